"""What an author may say of a tool beyond its signature. A function without any mark is a tool just as well."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

_ATTRIBUTE: Final = "__pegboard_tool__"


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """None leaves a matter to the function's own words, or to the protocol's default."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    requires_confirmation: bool | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    requires_confirmation: bool | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None, /, **said: str | bool | None
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """`@tool` or `@tool(name="…", read_only=True)`. The function stays what it was, and can be called as before."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        setattr(function, _ATTRIBUTE, ToolMetadata(**said))  # type: ignore[arg-type]  # named one by one in the overload
        return function

    return mark if function is None else mark(function)


def metadata_of(function: Callable[..., object]) -> ToolMetadata:
    """Those of a function that has none are empty."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, ToolMetadata) else ToolMetadata()


def has_metadata(function: object) -> bool:
    return isinstance(getattr(function, _ATTRIBUTE, None), ToolMetadata)
