"""The whole arguments of a call: what overrides put in, with references read at the moment they are needed."""

import logging
from dataclasses import dataclass

from pegboard.core.argument import FrozenJson, freeze_json
from pegboard.core.call import Arguments
from pegboard.core.shaping import OverriddenTool, fill_arguments
from pegboard.core.tool import Json
from pegboard.ports import Expand, UnresolvedReference

log = logging.getLogger(__name__)


def keep_references(text: str) -> str | UnresolvedReference:
    return text


class _NoValueError(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(why)


@dataclass(frozen=True)
class ArgumentFiller:
    expand: Expand = keep_references

    def __call__(self, shape: OverriddenTool, arguments: Arguments) -> Arguments | None:
        """Only pins hold references: what a caller sends is never read for any."""
        whole = fill_arguments(shape, arguments)
        try:
            return {**whole, **{name: self._expand_references(whole[name]) for name in shape.pins}}
        except _NoValueError as error:
            log.warning("%s cannot be called: an argument that an override pins has no value. %s", shape.tool.id, error)
            return None

    def fill(self, value: Json) -> FrozenJson | str:
        """A pinned value as a server gets it, or why it is not to be had now."""
        try:
            return freeze_json(self._expand_references(value))
        except _NoValueError as error:
            return str(error)

    def _expand_references(self, value: Json) -> Json:
        match value:
            case str():
                text = self.expand(value)
                if isinstance(text, UnresolvedReference):
                    raise _NoValueError(text.why)
                return text
            case list():
                return [self._expand_references(inner) for inner in value]
            case dict():
                return {name: self._expand_references(inner) for name, inner in value.items()}
            case _:
                return value
