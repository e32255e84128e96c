"""Which client may be asked what: only what it said it knows."""

import pytest

from pegboard.core.calls.tickets import ELICITATION, ROOTS, SAMPLING, refuse_question
from pegboard.core.json.values import Json


@pytest.mark.behaviour("mcp.in.asks_only_what_the_client_knows")
@pytest.mark.parametrize(
    ("can", "method", "params"),
    [
        ({"elicitation": {}}, ELICITATION, {"message": "?"}),
        ({"elicitation": {}}, ELICITATION, {"message": "?", "mode": "form"}),
        ({"elicitation": {"later": {}}}, ELICITATION, {"message": "?"}),
        ({"elicitation": {"form": {}}}, ELICITATION, {"message": "?"}),
        ({"elicitation": {"form": {}, "url": {}}}, ELICITATION, {"mode": "url", "url": "https://there.example"}),
        ({"sampling": {}}, SAMPLING, {"messages": []}),
        ({"sampling": {"tools": {}}}, SAMPLING, {"messages": [], "tools": []}),
        ({"roots": {}}, ROOTS, {}),
    ],
)
def test_a_client_may_be_asked_what_it_declared(can: dict[str, Json], method: str, params: dict[str, Json]) -> None:
    assert refuse_question(can, method, params) is None


@pytest.mark.behaviour("mcp.in.asks_only_what_the_client_knows")
@pytest.mark.parametrize(
    ("can", "method", "params", "code", "word"),
    [
        ({}, ELICITATION, {}, -32601, "'elicitation'"),
        ({"elicitation": None}, ELICITATION, {}, -32601, "'elicitation'"),
        ({"elicitation": {}}, ELICITATION, {"mode": "url"}, -32602, "'url'"),
        ({"elicitation": {"url": {}}}, ELICITATION, {}, -32602, "'form'"),
        ({"elicitation": {}}, ELICITATION, {"mode": ["form"]}, -32602, "mode"),
        ({"elicitation": {}}, SAMPLING, {}, -32601, "'sampling'"),
        ({"sampling": {}}, SAMPLING, {"tools": []}, -32602, "tools"),
        ({"sampling": {}}, SAMPLING, {"toolChoice": {"mode": "auto"}}, -32602, "tools"),
        ({"sampling": {}}, ROOTS, {}, -32601, "'roots'"),
        ({"roots": {}}, "roots/delete", {}, -32601, "'roots/delete'"),
        ({"roots": {}}, "", {}, -32601, "''"),
    ],
)
def test_a_client_is_not_asked_what_it_did_not_declare(
    can: dict[str, Json], method: str, params: dict[str, Json], code: int, word: str
) -> None:
    found = refuse_question(can, method, params)
    assert found is not None
    assert found.code == code
    assert word in found.why


def test_a_long_method_is_cut_in_the_refusal() -> None:
    found = refuse_question({}, "x" * 10_000, {})
    assert found is not None
    assert len(found.why) < 200
