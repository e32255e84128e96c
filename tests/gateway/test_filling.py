"""What overrides put into arguments: references are read at each call, and only in what is pinned."""

import logging
from pathlib import Path

import pytest
from tests.core.boards import key, tool

from pegboard.config.references import expander
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, freeze_json
from pegboard.core.overrides.schema import OverriddenTool, override_tool
from pegboard.gateway.argument_values import ArgumentFiller

OWN = tool(key("dev~files"), "read").id
SCHEMA = ToolSpec("read", input_schema={"properties": {"key": {}, "path": {}, "limit": {}}})


def shape(pin: object) -> OverriddenTool:
    said = {"key": ArgumentOverride(pin=freeze_json(pin)), "limit": ArgumentOverride(default=freeze_json("${LIMIT}"))}  # type: ignore[arg-type]
    made = override_tool(Tool(OWN, SCHEMA), said, frozenset())
    assert made is not None
    return made


@pytest.mark.behaviour("overrides.pin_by_reference")
def test_a_reference_is_read_anew_at_each_call(tmp_path: Path) -> None:
    environ = {"USER": "ann"}
    fill = ArgumentFiller(expander(environ, tmp_path))
    pinned = shape({"who": "${USER}", "keys": ["${file:key}", "$${plain}", 7]})
    for secret in ("first", "second"):
        (tmp_path / "key").write_text(f"{secret}\n", "utf-8")
        assert fill(pinned, {}) == {
            "key": {"who": "ann", "keys": [secret, "${plain}", 7]},
            "limit": "${LIMIT}",
        }


@pytest.mark.behaviour("overrides.pin_by_reference")
def test_what_a_caller_sends_is_never_read_for_references(tmp_path: Path) -> None:
    fill = ArgumentFiller(expander({"SECRET": "s3cret"}, tmp_path))
    assert fill(shape("x"), {"path": "${SECRET}"}) == {"path": "${SECRET}", "key": "x", "limit": "${LIMIT}"}


@pytest.mark.behaviour("overrides.pin_by_reference")
def test_a_value_that_is_not_to_be_had_is_told_to_the_operator_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill = ArgumentFiller(expander({}, tmp_path))
    with caplog.at_level(logging.WARNING):
        assert fill(shape("${NOPE}"), {}) is None
    assert "NOPE is not set" in caplog.text
    assert isinstance(fill.fill("${NOPE}"), str)
    assert fill.fill("plain") == freeze_json("plain")
