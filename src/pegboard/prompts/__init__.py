"""What a model is told and how its answer is read. Pure.

The names that others use are here, each imported when it is first asked for: whoever reads one output needs no prompt,
and a gateway that serves no chat needs neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pegboard.core.launch import Allowance as Allowance
    from pegboard.core.launch import LaunchFilter as LaunchFilter
    from pegboard.core.launch import allowance as allowance
    from pegboard.core.prompting import KnownModel as KnownModel
    from pegboard.core.prompting import PromptSettings as PromptSettings

    from .building import BuiltPrompt as BuiltPrompt
    from .building import OfferedTool as OfferedTool
    from .building import PartKind as PartKind
    from .building import PromptPart as PromptPart
    from .building import build as build
    from .capability import Availability as Availability
    from .capability import Capabilities as Capabilities
    from .capability import CapabilityDecision as CapabilityDecision
    from .capability import capabilities as capabilities
    from .deltas import NativeCalls as NativeCalls
    from .events import Arguments as Arguments
    from .events import BrokenCallEvent as BrokenCallEvent
    from .events import CallDoneEvent as CallDoneEvent
    from .events import CallStartedEvent as CallStartedEvent
    from .events import Markup as Markup
    from .events import OutputEvent as OutputEvent
    from .events import ParsedCall as ParsedCall
    from .events import TextEvent as TextEvent
    from .events import ThinkingEvent as ThinkingEvent
    from .events import join_events as join_events
    from .feeding import format_broken_calls as format_broken_calls
    from .feeding import format_error as format_error
    from .feeding import format_result as format_result
    from .feeding import format_unknown_tool as format_unknown_tool
    from .feeding import shorten_result as shorten_result
    from .formats import FORMATS as FORMATS
    from .formats import Format as Format
    from .formats import FormatMessage as FormatMessage
    from .formats import FormattedResult as FormattedResult
    from .formats import find_format as find_format
    from .formats import parse as parse
    from .grammar import calls_schema as calls_schema
    from .grammar import gbnf as gbnf
    from .grammar import structural_tags as structural_tags
    from .model import Model as Model
    from .model import model_facts as model_facts
    from .request import chat_request as chat_request
    from .scanner import ParsedOutput as ParsedOutput
    from .shapes import ToolShape as ToolShape

_EXPORTS_BY_MODULE: Final = {
    "building": ("BuiltPrompt", "OfferedTool", "PartKind", "PromptPart", "build"),
    "capability": ("Availability", "Capabilities", "CapabilityDecision", "capabilities"),
    "deltas": ("NativeCalls",),
    "events": (
        "Arguments",
        "BrokenCallEvent",
        "CallDoneEvent",
        "CallStartedEvent",
        "Markup",
        "OutputEvent",
        "ParsedCall",
        "TextEvent",
        "ThinkingEvent",
        "join_events",
    ),
    "feeding": ("format_broken_calls", "format_error", "format_result", "format_unknown_tool", "shorten_result"),
    "formats": ("FORMATS", "Format", "FormatMessage", "FormattedResult", "find_format", "parse"),
    "grammar": ("calls_schema", "gbnf", "structural_tags"),
    "model": ("Model", "model_facts"),
    "request": ("chat_request",),
    "scanner": ("ParsedOutput",),
    "shapes": ("ToolShape",),
}
_CORE_EXPORTS: Final = {
    "pegboard.core.launch": ("Allowance", "LaunchFilter", "allowance"),
    "pegboard.core.prompting": ("KnownModel", "PromptSettings"),
}
_MODULES: Final = {
    **{name: f".{module}" for module, names in _EXPORTS_BY_MODULE.items() for name in names},
    **{name: module for module, names in _CORE_EXPORTS.items() for name in names},
}


__all__ = [*_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name], __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted(_MODULES)
