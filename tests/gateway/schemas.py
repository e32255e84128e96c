"""What the tests of validation share: a tool with a schema, its problems, and how often a schema was compiled."""

from typing import Any

import jsonschema_rs
import pytest
from tests.core.boards import key

from pegboard.core.calls.call import Arguments
from pegboard.core.json.values import Json
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import JsonSchema, Tool, ToolSpec
from pegboard.gateway.validation import Validators

GITHUB = key("dev~github")


def tool(schema: JsonSchema, *, name: str = "search", description: str = "") -> Tool:
    return Tool(ToolId(GITHUB, name), ToolSpec(name, description=description, input_schema=schema))


def problems(schema: JsonSchema, arguments: Arguments) -> tuple[str, ...]:
    return Validators().problems(tool(schema), arguments)


def of(schema: Json) -> JsonSchema:
    """A tool of one argument, `a`."""
    return {"type": "object", "properties": {"a": schema}}


def lists_within(levels: int, last: Json) -> Json:
    """The value in this many lists."""
    for _ in range(levels):
        last = [last]
    return last


class Compilations:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = jsonschema_rs.validator_for

        def counted(*args: Any, **kwargs: Any) -> object:
            self.count += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(jsonschema_rs, "validator_for", counted)
