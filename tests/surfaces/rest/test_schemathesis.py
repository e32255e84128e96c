"""Whatever the OpenAPI document allows, and much that it does not: no request makes the API fail, and every answer is
as it is described. The same requests each time."""

import warnings
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from tests.support.house import PATIENCE
from tests.surfaces.rest.conforming import assert_conforms
from tests.surfaces.rest.desk import GITHUB, TOOLS, at_desk
from tests.surfaces.rest.recorded import at_recorded_desk

from pegboard.gateway import trials
from pegboard.gateway import trials as trial
from pegboard.surfaces.rest.app import document

EXAMPLES = 6
"""Requests of each operation: half of what it takes, half of what it does not."""
UNTRIED = {"/api/v1/events": "its answer does not end"}
RECORDED = "/activity"
"""In these paths questions are asked that only a real store can answer."""
KNOWN = {"name": str(GITHUB), "tool": str(TOOLS[GITHUB][0].id)}
"""What is there, by the names of parameters: at random nobody would hit on it."""

OPERATIONS = [
    operation
    for found in schemathesis.openapi.from_dict(document()).get_all_operations()
    if isinstance(found, Ok) and (operation := found.ok()).path not in UNTRIED
]


def test_every_operation_is_tried() -> None:
    described = {(method, path) for path, methods in document()["paths"].items() for method in methods}
    tried = {(operation.method.lower(), operation.path) for operation in OPERATIONS}
    assert described - tried == {("get", path) for path in UNTRIED}


@pytest.fixture(autouse=True)
def _servers_that_never_answer_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the desk do not start by themselves, and a trial waits a minute for one."""
    monkeypatch.setattr(trials, "MAX_START_S", 0.05)
    monkeypatch.setattr(trial, "LISTING_GRACE_S", 0.05)


@pytest.fixture(autouse=True)
def _a_home_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some routes look for files of other programs."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.slow
@pytest.mark.behaviour("rest.tried_at_random")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method.upper()} {each.path}")
def test_no_request_makes_the_api_fail(operation: Any, tmp_path: Path) -> None:
    anyio.run(_tried, _requests(operation), tmp_path if RECORDED in operation.path else None)


def _requests(operation: Any) -> list[dict[str, Any]]:
    path = {name: KNOWN[name] for name in ("name",) if f"{{{name}}}" in operation.path}
    query = {name: KNOWN[name] for name in ("tool",) if any(each.name == name for each in operation.query)}
    found: list[dict[str, Any]] = []

    @seed(11)
    @settings(
        max_examples=EXAMPLES // 2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        for mode, known in ((GenerationMode.POSITIVE, True), (GenerationMode.NEGATIVE, False)):
            options: dict[str, Any] = {"path_parameters": path or None, "query": query or None} if known else {}
            try:
                strategy = operation.as_strategy(generation_mode=mode, **options)
                case = data.draw(strategy)
            except NotImplementedError:
                continue
            found.append(case.as_transport_kwargs(base_url="http://127.0.0.1"))

    with warnings.catch_warnings():
        # The library warns of operations of which nothing can be wrong.
        warnings.simplefilter("ignore")
        try:
            draw()
        except Unsatisfiable:
            # An operation that takes nothing has requests that are right, and none that is wrong.
            assert found
            assert [*operation.body, *operation.query, *operation.path_parameters] == []
    return found


async def _tried(requests: list[dict[str, Any]], path: Path | None) -> None:
    async with AsyncExitStack() as stack:
        if path is None:
            desk = await stack.enter_async_context(at_desk())
        else:
            desk, _ = await stack.enter_async_context(at_recorded_desk(path))
        for asked in requests:
            with anyio.fail_after(PATIENCE):
                answer = await desk.client.request(**_sent(asked))
            told = f"{asked['method']} {asked['url']} {asked.get('params')} {asked.get('json')}: {answer.text[:500]}"
            assert answer.status_code < 500 or answer.status_code == 503, told
            assert_conforms(answer)


def _sent(asked: dict[str, Any]) -> dict[str, Any]:
    """In the words of our client; who it is said to be from, and which token it has, is ours to say."""
    kept: dict[str, Any] = {key: asked[key] for key in ("method", "url", "params", "json", "files") if key in asked}
    headers = {
        name: value.encode("latin-1", "replace")
        for name, value in asked.get("headers", {}).items()
        if name.lower() in ("if-match", "content-type", "accept")
    }
    body = asked.get("data")
    content = {} if body is None else {"content" if isinstance(body, bytes | str) else "data": body}
    return {**kept, **content, "headers": headers}
