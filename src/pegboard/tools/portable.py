"""Annotations as Pydantic takes them on every Python: until 3.12 it refuses the standard library's own TypedDict."""

import sys
import types
import typing
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typing_extensions

IS_OLD_PYTHON: typing.Final = sys.version_info < (3, 12)
_TYPED_DICT: typing.Final[Any] = typing_extensions.TypedDict
"""A checker takes only names that it reads in the source."""


def portable_annotation(annotation: Any) -> Any:
    """The same type, with each such TypedDict made anew."""
    return _rebuild(annotation, {}) if IS_OLD_PYTHON else annotation


def _rebuild(annotation: Any, known: dict[Any, Any]) -> Any:
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        if annotation not in known:
            made = _TYPED_DICT(annotation.__name__, {})
            # Known before its members are looked at, because one of them may be of the same type.
            known[annotation] = made
            made.__annotations__ = {name: _rebuild(kind, known) for name, kind in _members(annotation).items()}
            made.__doc__ = annotation.__doc__
        return known[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if not inner or origin is typing.Literal:
        return annotation
    parts = tuple(_rebuild(one, known) for one in inner[: 1 if origin is Annotated else None])
    if parts == inner[: len(parts)]:
        return annotation
    if origin is Annotated:
        return Annotated[(parts[0], *inner[1:])]
    if origin in (Union, types.UnionType):
        return Union[parts]  # noqa: UP007 - there is no other way to write one of so many
    # `Required` and its like take one type, and no tuple of one.
    return origin[parts if len(parts) > 1 else parts[0]]


def _members(kind: Any) -> dict[str, Any]:
    """Each with the word whether it must be there. Where annotations are text, only the word itself tells."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        word, bare = get_origin(hint), hint
        if word in _REQUIRED or word in _NOT_REQUIRED:
            bare = get_args(hint)[0]
        is_required = word in _REQUIRED or (word not in _NOT_REQUIRED and name in kind.__required_keys__)
        found[name] = (typing_extensions.Required if is_required else typing_extensions.NotRequired)[bare]
    return found


_REQUIRED: typing.Final = (typing.Required, typing_extensions.Required)
_NOT_REQUIRED: typing.Final = (typing.NotRequired, typing_extensions.NotRequired)
