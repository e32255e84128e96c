"""A tool as its provider describes it, and the fingerprint of everything a model is shown of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NewType, TypeAlias

from .ids import ToolId

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"
JsonSchema: TypeAlias = Mapping[str, Json]
Fingerprint = NewType("Fingerprint", str)


@dataclass(frozen=True, slots=True)
class Hints:
    """What the provider claims of a tool. Claims inform a policy; they are never proof."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


@dataclass(frozen=True)
class ToolSpec:
    """All that a model is shown of a tool, and so all that an approval is an approval of."""

    name: str
    title: str | None = None
    description: str = ""
    input_schema: JsonSchema = field(default_factory=lambda: {"type": "object"})
    output_schema: JsonSchema | None = None
    annotations: Mapping[str, Json] | None = None

    @cached_property
    def fingerprint(self) -> Fingerprint:
        shown = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": self.annotations,
        }
        return Fingerprint(hashlib.sha256(canonical(shown)).hexdigest())

    @cached_property
    def hints(self) -> Hints:
        """The annotations as claims, with the protocol's defaults; anything but a boolean claims nothing."""
        told = self.annotations or {}

        def claim(key: str, default: bool) -> bool:
            value = told.get(key)
            return value if isinstance(value, bool) else default

        return Hints(
            claim("readOnlyHint", False),
            claim("destructiveHint", True),
            claim("idempotentHint", False),
            claim("openWorldHint", True),
        )


@dataclass(frozen=True)
class Tool:
    id: ToolId
    spec: ToolSpec
    extra: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What else the provider sent (icons, `_meta`): passed on as it came, shown to no model."""


def canonical(value: object) -> bytes:
    """One text for equal JSON values. Lone surrogates from a careless server must not make a fingerprint fail."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
