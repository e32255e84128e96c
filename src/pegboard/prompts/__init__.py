"""What a model is told and how its answer is read. Pure.

The names that others use are here, each imported when it is first asked for: whoever reads one output needs no prompt,
and a gateway that serves no chat needs neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pegboard.core.model.patterns import Allowance as Allowance
    from pegboard.core.model.patterns import LaunchFilter as LaunchFilter
    from pegboard.core.model.patterns import allowance as allowance
    from pegboard.core.model.settings import KnownModel as KnownModel
    from pegboard.core.model.settings import PromptSettings as PromptSettings
    from pegboard.prompts.capability import Availability as Availability
    from pegboard.prompts.capability import Capabilities as Capabilities
    from pegboard.prompts.capability import CapabilityDecision as CapabilityDecision
    from pegboard.prompts.capability import capabilities as capabilities
    from pegboard.prompts.deltas import NativeCalls as NativeCalls
    from pegboard.prompts.events import Arguments as Arguments
    from pegboard.prompts.events import BrokenCallEvent as BrokenCallEvent
    from pegboard.prompts.events import CallDoneEvent as CallDoneEvent
    from pegboard.prompts.events import CallStartedEvent as CallStartedEvent
    from pegboard.prompts.events import Markup as Markup
    from pegboard.prompts.events import OutputEvent as OutputEvent
    from pegboard.prompts.events import ParsedCall as ParsedCall
    from pegboard.prompts.events import TextEvent as TextEvent
    from pegboard.prompts.events import ThinkingEvent as ThinkingEvent
    from pegboard.prompts.events import join_events as join_events
    from pegboard.prompts.formats import FORMATS as FORMATS
    from pegboard.prompts.formats import Format as Format
    from pegboard.prompts.formats import FormatMessage as FormatMessage
    from pegboard.prompts.formats import FormattedResult as FormattedResult
    from pegboard.prompts.formats import find_format as find_format
    from pegboard.prompts.formats import parse as parse
    from pegboard.prompts.grammar.gbnf import gbnf as gbnf
    from pegboard.prompts.grammar.json_schema import calls_schema as calls_schema
    from pegboard.prompts.grammar.json_schema import structural_tags as structural_tags
    from pegboard.prompts.model import Model as Model
    from pegboard.prompts.model import model_facts as model_facts
    from pegboard.prompts.request import chat_request as chat_request
    from pegboard.prompts.results import format_broken_calls as format_broken_calls
    from pegboard.prompts.results import format_error as format_error
    from pegboard.prompts.results import format_result as format_result
    from pegboard.prompts.results import format_unknown_tool as format_unknown_tool
    from pegboard.prompts.results import shorten_result as shorten_result
    from pegboard.prompts.scanner import ParsedOutput as ParsedOutput
    from pegboard.prompts.system_prompt import BuiltPrompt as BuiltPrompt
    from pegboard.prompts.system_prompt import OfferedTool as OfferedTool
    from pegboard.prompts.system_prompt import PartKind as PartKind
    from pegboard.prompts.system_prompt import PromptPart as PromptPart
    from pegboard.prompts.system_prompt import build as build
    from pegboard.prompts.tool_shape import ToolShape as ToolShape

_EXPORTS_BY_MODULE: Final = {
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
    "formats": ("FORMATS", "Format", "FormatMessage", "FormattedResult", "find_format", "parse"),
    "grammar.gbnf": ("gbnf",),
    "grammar.json_schema": ("calls_schema", "structural_tags"),
    "model": ("Model", "model_facts"),
    "request": ("chat_request",),
    "results": ("format_broken_calls", "format_error", "format_result", "format_unknown_tool", "shorten_result"),
    "scanner": ("ParsedOutput",),
    "system_prompt": ("BuiltPrompt", "OfferedTool", "PartKind", "PromptPart", "build"),
    "tool_shape": ("ToolShape",),
}
_CORE_EXPORTS: Final = {
    "pegboard.core.model.patterns": ("Allowance", "LaunchFilter", "allowance"),
    "pegboard.core.model.settings": ("KnownModel", "PromptSettings"),
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
