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
    from pegboard.core.prompting import Prompting as Prompting

    from .building import Offered as Offered
    from .building import Part as Part
    from .building import PartKind as PartKind
    from .building import Prompt as Prompt
    from .building import build as build
    from .capability import Capabilities as Capabilities
    from .capability import Place as Place
    from .capability import Ruling as Ruling
    from .capability import capabilities as capabilities
    from .deltas import NativeCalls as NativeCalls
    from .events import Arguments as Arguments
    from .events import Broken as Broken
    from .events import Called as Called
    from .events import Done as Done
    from .events import Event as Event
    from .events import Markup as Markup
    from .events import Started as Started
    from .events import Text as Text
    from .events import Thinking as Thinking
    from .events import joined as joined
    from .feeding import fed as fed
    from .feeding import fed_error as fed_error
    from .feeding import fed_unknown as fed_unknown
    from .feeding import shortened as shortened
    from .feeding import told_broken as told_broken
    from .formats import FORMATS as FORMATS
    from .formats import Fed as Fed
    from .formats import Format as Format
    from .formats import Message as Message
    from .formats import named as named
    from .formats import parse as parse
    from .grammar import calls_schema as calls_schema
    from .grammar import gbnf as gbnf
    from .grammar import structural_tags as structural_tags
    from .model import Model as Model
    from .model import model_facts as model_facts
    from .request import chat_request as chat_request
    from .scanner import Parsed as Parsed
    from .shapes import ToolShape as ToolShape

_PLACES: Final = {
    "deltas": ("NativeCalls",),
    "building": ("Offered", "Part", "PartKind", "Prompt", "build"),
    "capability": ("Capabilities", "Place", "Ruling", "capabilities"),
    "events": ("Arguments", "Broken", "Called", "Done", "Event", "Markup", "Started", "Text", "Thinking", "joined"),
    "feeding": ("fed", "fed_error", "fed_unknown", "shortened", "told_broken"),
    "formats": ("FORMATS", "Fed", "Format", "Message", "named", "parse"),
    "grammar": ("calls_schema", "gbnf", "structural_tags"),
    "model": ("Model", "model_facts"),
    "request": ("chat_request",),
    "scanner": ("Parsed",),
    "shapes": ("ToolShape",),
}
_OF_CORE: Final = {
    "pegboard.core.launch": ("Allowance", "LaunchFilter", "allowance"),
    "pegboard.core.prompting": ("KnownModel", "Prompting"),
}
_MODULES: Final = {
    **{name: f".{module}" for module, names in _PLACES.items() for name in names},
    **{name: module for module, names in _OF_CORE.items() for name in names},
}


__all__ = [*_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name], __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted(_MODULES)
