"""Answers held to the OpenAPI document: the status and the kind are announced, and the body is what the schema says and
has nothing beside it."""

import json
import os
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs

from pegboard.surfaces.rest.app import document

RECORDED = "PEGBOARD_RECORDED"
"""Names a file for answers: `python -m tests.surfaces.rest.examples` makes the document's examples of it."""


def assert_conforms(answer: httpx2.Response) -> None:
    """Of a path that the document does not have, nothing is said."""
    method, path = answer.request.method.lower(), answer.request.url.path
    operation = next(
        (found for pattern, found in _operations() if found[0] == method and pattern.fullmatch(path)), None
    )
    if operation is None:
        return
    if (file := os.environ.get(RECORDED)) is not None:
        _record(Path(file), operation[1]["operationId"], answer)
    responses = operation[1]["responses"]
    status = str(answer.status_code)
    assert status in responses or f"{status[0]}XX" in responses, f"{method} {path} does not announce {status}"
    announced = (responses.get(status) or responses[f"{status[0]}XX"]).get("content", {})
    content = {kind.partition(";")[0]: described for kind, described in announced.items()}
    if not content and not answer.content:
        return
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind in content, f"{method} {path} does not announce {kind}, but {list(content)}"
    if kind in ("application/json", "application/problem+json"):
        wrong = faults(content[kind]["schema"], answer.json())
        assert not wrong, f"{method} {path} is not as it is described: {'; '.join(wrong)}"


def operation_at(method: str, path: str) -> str:
    """The id of the operation that is there."""
    found = (operation for pattern, operation in _operations() if pattern.fullmatch(path))
    return next(str(operation["operationId"]) for way, operation in found if way == method.lower())


def faults(schema: Any, value: Any, *, closed: bool = True) -> list[str]:
    """What is not as the schema says, and if it is closed, what is beside it."""
    return [
        f"{'.'.join(map(str, error.instance_path)) or 'the body'}: {error.message}"
        for error in _validator(_text(schema), closed).iter_errors(value)
    ]


def _record(file: Path, operation: str, answer: httpx2.Response) -> None:
    """For the examples of the document: what was asked and answered, a line each."""
    kind = answer.headers.get("content-type", "")
    if answer.is_success and answer.content and kind.partition(";")[0] == "application/json":
        sent = answer.request.content if "json" in answer.request.headers.get("content-type", "") else b""
        line = {"operation": operation, "sent": json.loads(sent or b"null"), "answer": answer.json()}
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


@lru_cache
def _operations() -> tuple[tuple[re.Pattern[str], tuple[str, dict[str, Any]]], ...]:
    """What has no parameter first: `/servers/try` is no server."""
    paths = sorted(document()["paths"].items(), key=lambda item: item[0].count("{"))
    return tuple(
        (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), (method, operation))
        for path, methods in paths
        for method, operation in methods.items()
    )


@lru_cache
def _components() -> dict[str, Any]:
    closed: dict[str, Any] = _closed(document()["components"]["schemas"])
    return closed


def _closed(schema: Any) -> Any:
    """Members that nobody announced are for nobody to read."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _closed(value) for key, value in schema.items()}
    is_object = inner.get("type") == "object" and isinstance(inner.get("properties"), dict)
    return {"additionalProperties": False, **inner} if is_object else inner


@cache
def _validator(reference: str, closed: bool) -> Any:
    if not closed:
        return jsonschema_rs.Draft202012Validator(
            {**json.loads(reference), "components": {"schemas": document()["components"]["schemas"]}}
        )
    schema = {**_closed(json.loads(reference)), "components": {"schemas": _components()}}
    return jsonschema_rs.Draft202012Validator(schema)


def _text(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True)
