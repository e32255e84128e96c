"""A server is shown without its secrets."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.config.manifest.secrets import display_args
from pegboard.config.masked_servers import mask_server, mask_text, mask_value, secrets_in
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import Connection, Http, InstalledBy, Server, Stdio, Transport


def shown(connection: Connection) -> Mapping[str, Json]:
    key = ServerKey(ToolsetId("a"), ServerId("a"))
    return mask_server(Server(key, connection, InstalledBy(LOCAL_PRINCIPAL, datetime(2026, 11, 15, tzinfo=UTC))))


@pytest.mark.behaviour("config.secrets_are_not_shown")
@pytest.mark.parametrize(
    ("value", "safe"),
    [
        ("${request:X-Token}", "${request:X-Token}"),
        ("Bearer ${request:X-Token}", "Bearer ${request:X-Token}"),
        ("basic ${TOKEN}", "basic ${TOKEN}"),
        ("Bearer ${request:X-Token:-hunter2}", "***"),
        ("Bearer hunter2", "***"),
        ("Bearer hunter2${TOKEN}", "***"),
        ("hunter2 ${request:X-Token}", "***"),
    ],
)
def test_a_header_of_references_is_shown_as_it_is_written(value: str, safe: str) -> None:
    assert mask_value(value) == safe


@pytest.mark.behaviour("config.secrets_are_not_shown")
def test_a_program_is_shown_with_its_references_and_without_its_values() -> None:
    connection = Stdio(
        "${PYTHON:-python3}",
        ("server.py", "--api-key", "hunter2", "--token=hunter2", "--port", "80", "https://me:hunter2@h/?page=2"),
        {"TOKEN": "hunter2", "LEVEL": "debug", "SAFE": "${TOKEN}", "FILE": "${file:s}", "MIXED": "x${TOKEN}"},
        "/srv",
    )
    assert shown(connection) == {
        "transport": "stdio",
        "command": "${PYTHON:-python3}",
        "args": ["server.py", "--api-key", "***", "--token=***", "--port", "80", "https://***@h/?page=2"],
        "env": {"TOKEN": "***", "LEVEL": "debug", "SAFE": "${TOKEN}", "FILE": "${file:s}", "MIXED": "***${TOKEN}"},
        "cwd": "/srv",
    }


@pytest.mark.behaviour("config.secrets_are_not_shown")
def test_an_address_is_shown_without_user_and_secret_parameters() -> None:
    url = "https://ada:hunter2@example.org:8443/mcp?team=a&apiKey=hunter2&access_token=hunter2&ref=${KEY}&key=${KEY}#x"
    assert shown(Http(url, Transport.SSE, {"Authorization": "Bearer hunter2", "X-Key": "${KEY}"})) == {
        "transport": "sse",
        "url": "https://***@example.org:8443/mcp?team=***&apiKey=***&access_token=***&ref=${KEY}&key=${KEY}#x",
        "headers": {"Authorization": "Bearer ***", "X-Key": "${KEY}"},
    }


@pytest.mark.parametrize(
    ("args", "safe"),
    [
        (("--password", "--verbose"), ("--password", "--verbose")),
        (("--password", "${PW}"), ("--password", "${PW}")),
        (("--header", "Authorization: Bearer hunter2"), ("--header", "Authorization: Bearer ***")),
        (("ghp_0123456789abcdefghij",), ("***",)),
        (("x:sk-proj-0123456789abcdef",), ("x:***",)),
        (("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",), ("***",)),
        (("task-runner-of-today", "sk-learn-of-yesterday", "--keyboard", "us"),) * 2,
        (("--path", "/users/pat/tokens.txt"),) * 2,
        (("API_KEY=hunter2",), ("API_KEY=***",)),
        (("-e", "GITHUB_TOKEN=hunter2"), ("-e", "GITHUB_TOKEN=***")),
        (("https://h/?a=b=c&code=hunter2&x=1",), ("https://h/?a=***&code=***&x=1",)),
        (("-k", "Zx9plainly"), ("-k", "***")),
        (("--pass", "abcd"), ("--pass", "***")),
        (("--user", "bob:pass99"), ("--user", "bob:***")),
        (("--api-key=zzz999", "-p", "hunter2"), ("--api-key=***", "-p", "***")),
        (('--config={"apiKey":"QQQ111"}',), ('--config={"apiKey":"***"}',)),
        (("--secret:foo77",), ("--secret:***",)),
        (("serve", "Zx9kQ2mV7pL4tR8wB3nY"), ("serve", "***")),
    ],
)
def test_arguments_are_shown_without_what_looks_like_a_secret(args: tuple[str, ...], safe: tuple[str, ...]) -> None:
    assert display_args("run", args) == safe


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("https://u:${PW:-a@b}@h/", "https://***@h/"),
        ("https://${USER}@h/", "https://${USER}@h/"),
        ("https://h/?key=${file:a&b}", "https://h/?key=${file:a&b}"),
        ("${X:-Bearer hunter2}", "***"),
        ("no url: a@b", "no url: a@b"),
    ],
)
def test_a_reference_is_never_cut_in_half(text: str, safe: str) -> None:
    assert mask_text(text) == safe


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from(["https://", "a:b", "@", "${A}", "?key=", "&", "Bearer ", "$"])).map("".join)
)
def test_any_text_can_be_shown(text: str) -> None:
    mask_text(text)
    spans = secrets_in(text)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    json.dumps(shown(Stdio(text, (text,), {text: text}, text)))
    json.dumps(shown(Http(text, headers={text: text})))
