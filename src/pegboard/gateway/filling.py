"""The whole arguments of a call: what overrides put in, with references read at the moment they are needed."""

import logging
from dataclasses import dataclass

from pegboard.core.argument import Held, held
from pegboard.core.call import Arguments
from pegboard.core.shaping import Shaped, put_in
from pegboard.core.tool import Json
from pegboard.ports import Expand, Unresolved

log = logging.getLogger(__name__)


def as_written(text: str) -> str | Unresolved:
    return text


class _NoValueError(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(why)


@dataclass(frozen=True)
class Filling:
    expand: Expand = as_written

    def __call__(self, shape: Shaped, arguments: Arguments) -> Arguments | None:
        """Only pins hold references: what a caller sends is never read for any."""
        whole = put_in(shape, arguments)
        try:
            return {**whole, **{name: self._expanded(whole[name]) for name in shape.pins}}
        except _NoValueError as error:
            log.warning("%s cannot be called: an argument that an override pins has no value. %s", shape.tool.id, error)
            return None

    def filled(self, value: Json) -> Held | str:
        """A pinned value as a server gets it, or why it is not to be had now."""
        try:
            return held(self._expanded(value))
        except _NoValueError as error:
            return str(error)

    def _expanded(self, value: Json) -> Json:
        match value:
            case str():
                text = self.expand(value)
                if isinstance(text, Unresolved):
                    raise _NoValueError(text.why)
                return text
            case list():
                return [self._expanded(inner) for inner in value]
            case dict():
                return {name: self._expanded(inner) for name, inner in value.items()}
            case _:
                return value
