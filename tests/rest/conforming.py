"""Answers held to the OpenAPI document: the status and the kind are announced, and the body is what the schema says and
has nothing beside it."""

import json
import re
from functools import cache, lru_cache
from typing import Any

import httpx2
import jsonschema_rs

from pegboard.surfaces.rest.document import document


def assert_conforms(answer: httpx2.Response) -> None:
    """Of a path that the document does not have, nothing is said."""
    method, path = answer.request.method.lower(), answer.request.url.path
    operation = next(
        (found for pattern, found in _operations() if found[0] == method and pattern.fullmatch(path)), None
    )
    if operation is None:
        return
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
        wrong = [
            f"{'.'.join(map(str, error.instance_path)) or 'the body'}: {error.message}"
            for error in _validator(_text(content[kind]["schema"])).iter_errors(answer.json())
        ]
        assert not wrong, f"{method} {path} is not as it is described: {'; '.join(wrong)}"


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
def _validator(reference: str) -> Any:
    schema = {**_closed(json.loads(reference)), "components": {"schemas": _components()}}
    return jsonschema_rs.Draft202012Validator(schema)


def _text(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True)
