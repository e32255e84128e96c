"""The annotations of a function, read as types that can be described; and why they cannot be."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from .portable import portable_annotation
from .trouble import NotAToolError


def type_hints(function: Callable[..., object]) -> Mapping[str, Any]:
    """By parameter, and by `return`. Raises `NotAToolError`."""
    callee = function if inspect.isroutine(function) else type(function).__call__
    try:
        found = get_type_hints(inspect.unwrap(callee), include_extras=True)
        return {name: portable_annotation(annotation) for name, annotation in found.items()}
    except NameError as error:
        raise NotAToolError(
            function,
            f"the annotation {error.name!r} is not known when the program runs. Import it outside of TYPE_CHECKING.",
        ) from None
    except (TypeError, SyntaxError, AttributeError) as error:
        raise NotAToolError(function, f"its annotations cannot be read: {error}") from None
