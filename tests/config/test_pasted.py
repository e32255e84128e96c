"""What people paste becomes servers, or it is said what is wrong with it and what to paste instead."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.config.machine import connections, told

from pegboard.config.clients.paste import read_pasted
from pegboard.config.clients.placeholders import ClientServerList
from pegboard.core.model.ids import is_id
from pegboard.core.model.server import Connection, Http, Stdio, Transport

HOME = Path("/somebody")


def read(text: str) -> ClientServerList:
    return read_pasted(text, HOME, "linux")


@pytest.mark.behaviour("servers.read_what_is_pasted")
@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("https://mcp.linear.app/mcp", {"linear": Http("https://mcp.linear.app/mcp")}),
        ("  https://api.example.com/mcp/\n", {"example": Http("https://api.example.com/mcp/")}),
        ("http://localhost:3000/mcp", {"local": Http("http://localhost:3000/mcp")}),
        ("npx -y @scope/server-github", {"github": Stdio("npx", ("-y", "@scope/server-github"))}),
        ("npx -y @linear/mcp@1.2.3", {"linear": Stdio("npx", ("-y", "@linear/mcp@1.2.3"))}),
        ("$ uvx \\\n  mcp-server-time --tz UTC", {"time": Stdio("uvx", ("mcp-server-time", "--tz", "UTC"))}),
        ("python3 -m my_notes", {"my-notes": Stdio("python3", ("-m", "my_notes"))}),
        (
            "uv run --directory '/a b' sky.py",
            {"sky": Stdio("uv", ("run", "--directory", "/a b", "sky.py"))},
        ),
        (
            "TOKEN=abc docker run -i --rm -e TOKEN ghcr.io/acme/issues-mcp-server:latest stdio",
            {
                "issues": Stdio(
                    "docker",
                    ("run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/acme/issues-mcp-server:latest", "stdio"),
                    {"TOKEN": "abc"},
                )
            },
        ),
        ("env A=1 B=2 notes", {"notes": Stdio("notes", env={"A": "1", "B": "2"})}),
        ("notes --key $KEY", {"notes": Stdio("notes", ("--key", "${KEY}"))}),
        (
            "claude mcp add --transport http sentry https://h/mcp --header 'Authorization: Bearer abc'",
            {"sentry": Http("https://h/mcp", headers={"Authorization": "Bearer abc"})},
        ),
        ("claude mcp add -e K=v tables -- npx -y t", {"tables": Stdio("npx", ("-y", "t"), {"K": "v"})}),
        ('{"mcpServers": {"a": {"command": "x"}, "b": {"type": "sse", "url": "https://h"}}}', None),
        ('{"a": {"command": "x"}, "b": {"type": "sse", "url": "https://h"}}', None),
        ('"a": {"command": "x"}, "b": {"type": "sse", "url": "https://h"},', None),
        ('```json\n{"servers": {"a": {"command": "x"}, "b": {"type": "sse", "url": "https://h"}}}\n```', None),
        ("mcpServers:\n  a: {command: x}\n  b: {type: sse, url: 'https://h'}\n", None),
        ('{"command": "uvx", "args": ["mcp-server-time"]}', {"time": Stdio("uvx", ("mcp-server-time",))}),
        ('{"name": "clock", "command": "uvx", "args": ["x"]}', {"clock": Stdio("uvx", ("x",))}),
    ],
)
def test_what_is_pasted_becomes_servers(text: str, servers: dict[str, Connection] | None) -> None:
    both: dict[str, Connection] = {"a": Stdio("x"), "b": Http("https://h", Transport.SSE)}
    found = read(text)
    assert (connections(found), told(found)) == (both if servers is None else servers, [])


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 0, "there is nothing in it. Paste an address"),
        (" \n```\n```", 0, "there is nothing in it. Paste an address"),
        ("{}", 0, "no servers are in it, neither under mcpServers nor under servers. Paste an address"),
        ("[]", 1, "this is not a list of servers. Nothing was taken."),
        ('{"mcpServers": {"a": 7}}', 1, "this should describe a server, and it is 7. Left out."),
        ('{"mcpServers":\n {"a": {}}}', 2, "it has neither the command nor the url that its type needs. Left out."),
        ("{broken", 1, "'b' stands where a key in double quotes, or '}', should be."),
        ("cat x | server", 1, "a server is started without a shell, so '|' means nothing. Paste one command."),
        ("npm install\nnpx y", 2, "these are several lines, and a command is one. Paste one of them."),
        ("npx 'y", 1, "a quotation mark is opened and not closed. Copy all of the command."),
        ("A=b", 1, "it sets variables and names no program. Copy all of the command."),
        ("claude mcp add x", 1, "it names no server with an address or a command. Copy all of it."),
        ("😀", 1, "this is neither an address (https://…) nor a program with arguments."),
        ("\x00", 1, "this is neither an address (https://…) nor a program with arguments."),
        ("http://127.0.0.1:8460/mcp", 1, "this is Pegboard itself, which cannot be one of its own servers. Left out."),
        ("x" * 1_000_001, 0, "this is longer than 1,000,000 characters. Paste an address"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_to_do(text: str, line: int, words: str) -> None:
    found = read(text)
    (problem,) = found.problems
    assert (found.servers, problem.line, problem.file) == ((), line, "pasted text")
    assert problem.message.startswith(words)


@pytest.mark.parametrize("blank", ["<YOUR_TOKEN>", "your-api-key", "Bearer YOUR_KEY", "xxxx", "...", "put-it-here"])
def test_a_blank_of_a_guide_is_told_and_the_server_is_taken(blank: str) -> None:
    found = read(f'{{"a": {{"command": "x", "env": {{"KEY": "{blank}"}}}}}}')
    assert connections(found) == {"a": Stdio("x", env={"KEY": blank})}
    assert told(found) == ["0: mcpServers.a.env.KEY: this looks like a blank. Put a value of your own there."]


@given(st.text(max_size=200) | st.text(alphabet="{}[]\",:ab=$\\'\n -|/", max_size=80))
def test_whatever_is_pasted_is_read_or_told(text: str) -> None:
    found = read(text)
    assert found.servers or found.problems
    assert all(is_id(server.id) for server in found.servers)
