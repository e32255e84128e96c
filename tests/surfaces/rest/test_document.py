"""The OpenAPI document: printed without a gateway, the same that a gateway gives out, and complete."""

import json
import re
from typing import Any

import httpx2
import pytest
from tests.support.collect_failures import each_case
from tests.surfaces.rest.conforming import assert_conforms
from tests.surfaces.rest.desk import at_desk

from pegboard.surfaces.rest.app import document, main

FILES = {"/api/v1/policy/export/file"}
"""What these answer is a file, which is described where it is read."""
OPERATIONS: list[tuple[str, str, dict[str, Any]]] = [
    (method, path, operation) for path, methods in document()["paths"].items() for method, operation in methods.items()
]


@pytest.mark.anyio
@pytest.mark.behaviour("rest.document")
async def test_the_document_is_printed_without_a_gateway_as_a_gateway_gives_it_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with at_desk() as desk:
        given = await desk.get("/openapi.json")
    main()
    assert json.loads(capsys.readouterr().out) == given


@pytest.mark.behaviour("rest.document")
@each_case(("method", "path", "operation"), OPERATIONS, name=lambda method, path, _: f"{method} {path}")
def test_an_operation_says_what_it_does_and_that_errors_are_problems(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", operation["operationId"])
    assert operation["description"]
    assert operation["tags"]
    for status in ("4XX", "5XX"):
        assert [*operation["responses"][status]["content"]] == ["application/problem+json"]


def test_ids_are_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert sorted(set(ids)) == sorted(ids)


@pytest.mark.behaviour("rest.document")
@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (200, "application/json", {"removed": "dev~github", "inToolsArray": 1}, "is not as it is described"),
        (200, "application/json", {}, "is not as it is described"),
        (200, "text/plain", {"removed": "dev~github"}, "does not announce text/plain"),
        (204, "application/json", {"removed": "dev~github"}, "does not announce 204"),
        (404, "application/problem+json", {"detail": "No."}, "is not as it is described"),
    ],
)
def test_an_answer_that_is_not_as_described_would_fail_its_test(
    status: int, kind: str, body: dict[str, Any], said: str
) -> None:
    request = httpx2.Request("DELETE", "http://127.0.0.1/api/v1/servers/github")
    answer = httpx2.Response(status, headers={"content-type": kind}, content=json.dumps(body), request=request)
    with pytest.raises(AssertionError, match=said):
        assert_conforms(answer)


@each_case(("method", "path", "operation"), OPERATIONS, name=lambda method, path, _: f"{method} {path}")
def test_a_good_answer_is_described_member_by_member(method: str, path: str, operation: dict[str, Any]) -> None:
    good = [each for status, each in operation["responses"].items() if status.startswith("2")]
    for content in (content for each in good for content in each.get("content", {}).items()):
        kind, schema = content[0], content[1]["schema"]
        is_named = bool({"$ref", "anyOf"} & {*schema}) or path in FILES
        assert kind != "application/json" or is_named, f"{method} {path} answers with anything: {schema}"


def test_shapes_have_plain_names_that_no_two_of_them_share() -> None:
    assert [name for name in document()["components"]["schemas"] if "__" in name] == []
