"""What is wrong with a request, in our words, wherever it stands in it."""

from typing import Any

import pytest
from tests.surfaces.rest.desk import at_desk, problem

pytestmark = pytest.mark.anyio

UNSEEN = "this has a character that nobody sees or that turns text round ({}). Leave it out."
FINGERPRINT = "this is no fingerprint: one has 64 digits and letters from a to f. Copy it from: pegboard approvals show"


@pytest.mark.behaviour("rest.own_words")
@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/approvals/approve", {"tools": [{"tool": "x", "fingerprint": "1"}]}, f"tools[0].fingerprint: {FINGERPRINT}"),
        ("/approvals/approve", {"tools": {}}, "tools: this must be a list."),
        ("/approvals/approve", [], "this must be an object."),
        (
            "/approvals/approve",
            {},
            "name the tools, each with its fingerprint, or one server with the fingerprint of its list",
        ),
        ("/overrides", {"target": "x" * 600}, "target: this has more than 512 characters. Shorten it."),
        ("/overrides", {"target": "x", "set": [1]}, "set: this must be an object."),
        ("/tools/switch", {"tool": "x", "enabled": "maybe"}, "enabled: this must be true or false."),
        ("/tools/switch", {"tool": "x", "enabled": "yes"}, "enabled: this must be true or false."),
        ("/tools/switch", {"tool": "x", "enabled": False, "note": "a\u202eb"}, f"note: {UNSEEN.format('U+202E')}"),
        ("/tools/switch", {"tool": "x", "enabled": False, "note": "\x00"}, f"note: {UNSEEN.format('U+0000')}"),
        ("/approvals/block", {"tool": "x", "note": "\u200b"}, f"note: {UNSEEN.format('U+200B')}"),
        ("/tickets/x/deny", {"note": "\x1b"}, f"note: {UNSEEN.format('U+001B')}"),
        (
            "/tokens",
            {"principal": "a", "name": "b", "scopes": []},
            "scopes: this names no scope. Name at least one of read, call, operate and admin.",
        ),
        ("/tools/switches", {"tools": [], "enabled": True}, "tools: this must have at least 1 of what it lists."),
        ("/tickets/x/allow", {"scope": "ever"}, "scope: this must be 'once', 'client' or 'always'."),
    ],
)
async def test_a_body_that_does_not_fit_is_told_by_place_and_want(path: str, body: Any, told: str) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("POST", path, json=body)) == (422, told)


@pytest.mark.behaviour("rest.own_words")
@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"limit": "0"}, "limit: this must be at least 1."),
        ({"limit": "9999"}, "limit: this must be at most 1000."),
        ({"limit": "x"}, "limit: this must be a whole number."),
        ({"since": "yesterday"}, "since: this must be a time with its zone, like 2026-07-28T14:30:00Z."),
        ({"since": "2026-07-28T14:30:00"}, "since: this must be a time with its zone, like 2026-07-28T14:30:00Z."),
        ({"until": "0"}, "until: this must be a time with its zone, like 2026-07-28T14:30:00Z."),
        ({"knd": "call"}, "knd: this is unknown here. Leave it out, or did you mean 'kind'?"),
    ],
)
async def test_a_query_that_does_not_fit_is_told_so_too(params: dict[str, str], told: str) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("GET", "/activity", params=params)) == (422, told)


@pytest.mark.behaviour("rest.own_words")
async def test_a_digest_of_a_file_is_not_taken_for_a_fingerprint_and_a_missing_body_is_told() -> None:
    async with at_desk() as desk:
        digest = await desk.ask("PUT", "/settings/audit.keep_days", json={"value": 5, "fileDigest": "x"})
        nothing = await desk.ask("POST", "/tools/switch")
    assert problem(digest) == (
        422,
        "fileDigest: this is not the digest of a file. Send the fileDigest that GET /api/v1/settings told.",
    )
    assert problem(nothing) == (422, "a body is missing. Send what /api/v1/openapi.json says of this route, as JSON.")


async def test_a_body_that_is_no_json_is_told_so() -> None:
    async with at_desk() as desk:
        headers = {"content-type": "application/json"}
        answer = await desk.ask("POST", "/tools/switch", content=b"{", headers=headers)
        assert problem(answer) == (422, "the body is not JSON. Correct it.")


@pytest.mark.behaviour("rest.unknown_parameters")
@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        (
            "POST",
            "/toolsets/import?dryrun=true",
            "dryrun: this is unknown here. Leave it out, or did you mean 'dryRun'?",
        ),
        (
            "DELETE",
            "/toolsets/kit?keepworkspace=true&x=1",
            "keepworkspace: this is unknown here. Leave it out, or did you mean 'keepWorkspace'?; "
            "x: this is unknown here. Leave it out.",
        ),
        ("GET", "/tools?zzzzzz=1", "zzzzzz: this is unknown here. Leave it out."),
        ("GET", "/status?verbose=1", "verbose: this is unknown here. Leave it out."),
    ],
)
async def test_a_parameter_that_nobody_knows_is_told_and_not_passed_over(method: str, path: str, told: str) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask(method, path)) == (422, told)


@pytest.mark.behaviour("rest.own_words")
async def test_a_body_without_the_type_of_json_is_told_which_header_is_missing() -> None:
    async with at_desk() as desk:
        answer = await desk.ask("POST", "/tools/switch", content=b'{"tool": "x", "enabled": true}')
    told = "the body was not sent as JSON. Send it with the header Content-Type: application/json."
    assert problem(answer) == (422, told)


@pytest.mark.behaviour("rest.own_words")
async def test_a_body_that_is_nested_without_end_is_told_so() -> None:
    async with at_desk() as desk:
        headers = {"content-type": "application/json"}
        answer = await desk.ask("POST", "/tools/switch", content=b"[" * 200_000, headers=headers)
    told = "The body cannot be read: it is nested too deeply, or not in UTF-8. Send plain JSON."
    assert problem(answer) == (400, told)
