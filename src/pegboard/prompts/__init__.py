"""What a model is told and how its answer is read. Pure.

The names that others use are here, each imported when it is first asked for: whoever reads one output needs no prompt,
and a gateway that serves no chat needs neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .building import Offered as Offered
    from .building import Part as Part
    from .building import PartKind as PartKind
    from .building import Prompt as Prompt
    from .building import build as build
    from .capability import Capabilities as Capabilities
    from .capability import Place as Place
    from .capability import Ruling as Ruling
    from .capability import capabilities as capabilities
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
    from .formats import FORMATS as FORMATS
    from .formats import Fed as Fed
    from .formats import Format as Format
    from .formats import Message as Message
    from .formats import named as named
    from .formats import parse as parse
    from .model import Model as Model
    from .model import model_facts as model_facts
    from .scanner import Parsed as Parsed
    from .shapes import ToolShape as ToolShape

_PLACES: Final = {
    "building": ("Offered", "Part", "PartKind", "Prompt", "build"),
    "capability": ("Capabilities", "Place", "Ruling", "capabilities"),
    "events": ("Arguments", "Broken", "Called", "Done", "Event", "Markup", "Started", "Text", "Thinking", "joined"),
    "formats": ("FORMATS", "Fed", "Format", "Message", "named", "parse"),
    "model": ("Model", "model_facts"),
    "scanner": ("Parsed",),
    "shapes": ("ToolShape",),
}
_MODULES: Final = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted(_MODULES)
