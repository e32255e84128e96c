"""What modules of toolsets for Covalt import, in our terms: such a toolset runs here as it is.

A worker finds this module behind a toolset's own files and packages, and loads it when one of them asks for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

from pegboard.providers.python.worker import channel
from pegboard.tools.metadata import tool as marked

__all__ = ["ToolContext", "get_context", "tool"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ToolContext:
    workspace: Path
    """The toolset's, which is the same for all who call."""
    chat_id: str
    """Empty: a board knows calls, and no chats."""
    toolset_id: str
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


def get_context() -> ToolContext:
    """Raises `RuntimeError` while modules are imported."""
    found = channel.current_surroundings()
    if found is None:
        raise RuntimeError("get_context() tells where a tool runs. Call it inside the function, not at import.")
    return ToolContext(found.ensure_workspace(), "", found.toolset)


@overload
def tool(name: F, /) -> F: ...


@overload
def tool(
    name: str | None = None,
    description: str | None = None,
    requires_confirmation: bool | None = None,
    category: str | None = None,
) -> Callable[[F], F]: ...


def tool(
    name: F | str | None = None,
    description: str | None = None,
    requires_confirmation: bool | None = None,
    category: str | None = None,
) -> F | Callable[[F], F]:
    """`name` is the one that people see. `category` is taken and not used."""

    def mark(function: F) -> F:
        title = None if callable(name) else name
        marked(title=title, description=description, requires_confirmation=requires_confirmation)(function)
        return function

    return mark(name) if callable(name) else mark
