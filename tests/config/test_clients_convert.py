"""One entry of another client's list becomes a server of ours, or it is said why not."""

from pathlib import Path

import pytest
from tests.config.machine import Machine, connections, told

from pegboard.config.clients.entry import slug
from pegboard.core.model.ids import is_id
from pegboard.core.model.server import AllButTools, EveryTool, Http, OnlyTools, Stdio, ToolFilter, Transport

CURSOR = "home/.cursor/mcp.json"
CODE = "home/.claude.json"
DESKTOP = "home/.config/Claude/claude_desktop_config.json"
VS_CODE = "home/.config/Code/User/mcp.json"
WORKSPACE = "project/.vscode/mcp.json"
WINDSURF = "home/.codeium/windsurf/mcp_config.json"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("entry", "connection"),
    [
        (
            {"command": "npx", "args": ["-y", "s"], "env": {"A": "b", "N": 1}},
            Stdio("npx", ("-y", "s"), {"A": "b", "N": "1"}),
        ),
        ({"type": "stdio", "command": "x", "cwd": "/srv"}, Stdio("x", cwd="/srv")),
        ({"type": "local", "command": "x"}, Stdio("x")),
        ({"command": "x", "env": None}, Stdio("x")),
        ({"url": "https://h/mcp", "headers": {"X": "y"}}, Http("https://h/mcp", headers={"X": "y"})),
        ({"type": "http", "url": "https://h/sse"}, Http("https://h/sse")),
        ({"type": "streamableHttp", "url": "https://h"}, Http("https://h")),
        ({"transport": "streamable-http", "url": "https://h"}, Http("https://h")),
        ({"type": "sse", "url": "http://h"}, Http("http://h", Transport.SSE)),
        ({"serverUrl": "https://h/mcp"}, Http("https://h/mcp")),
    ],
)
def test_an_entry_is_converted(machine: Machine, entry: object, connection: object) -> None:
    machine.write(CURSOR, {"mcpServers": {"a": entry}})
    found = machine.only()
    assert (connections(found), told(found)) == ({"a": connection}, [])


def test_a_url_that_ends_in_sse_is_taken_for_sse_and_that_is_said(machine: Machine) -> None:
    machine.write(CURSOR, '{"mcpServers": {"a": {"url": "https://h/sse?x=1"}}}')
    found = machine.only()
    assert connections(found) == {"a": Http("https://h/sse?x=1", Transport.SSE)}
    assert told(found) == ["1: mcpServers.a.url: it does not say its type; taken for sse, as its path ends so."]


@pytest.mark.behaviour("config.headers_can_be_sent")
def test_a_header_that_the_transport_writes_itself_is_left_out_and_that_is_said(machine: Machine) -> None:
    machine.write(CURSOR, '{"mcpServers": {"a": {"url": "https://h", "headers": {"Accept": "*/*", "X": "y"}}}}')
    found = machine.only()
    assert connections(found) == {"a": Http("https://h", headers={"X": "y"})}
    assert told(found) == [
        "1: mcpServers.a.headers.Accept: Pegboard writes this header itself; it is not carried over."
    ]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            '{"type": "ws", "url": "wss://h"}',
            "its type 'ws' is not one Pegboard speaks: stdio, http and sse are. Left out.",
        ),
        ('{"type": "http", "command": "x"}', "it has neither the command nor the url that its type needs. Left out."),
        ("{}", "it has neither the command nor the url that its type needs. Left out."),
        ('"npx"', "this should describe a server, and it is text. Left out."),
    ],
)
def test_an_entry_that_cannot_be_converted_is_left_out_and_hides_no_other(
    machine: Machine, entry: str, problem: str
) -> None:
    machine.write(CURSOR, f'{{"mcpServers": {{"bad": {entry}, "good": {{"command": "x"}}}}}}')
    found = machine.only()
    assert (connections(found), told(found)) == ({"good": Stdio("x")}, [f"1: mcpServers.bad: {problem}"])


@pytest.mark.parametrize(
    ("entry", "connection", "problem"),
    [
        ('{"command": ""}', None, "command: the command is empty or no text. Left out."),
        ('{"url": "file:///x"}', None, "url: this is no http or https URL. Left out."),
        ('{"command": "x", "args": "-y"}', Stdio("x"), "args: this should be a list, and it is text. Not taken."),
        (
            '{"command": "x", "args": ["a", null, "b"]}',
            Stdio("x", ("a", "b")),
            "args[1]: this should be a text, and it is nothing. Not taken.",
        ),
        ('{"command": "x", "env": ["A"]}', Stdio("x"), "env: this should be a map, and it is a list. Not taken."),
        (
            '{"command": "x", "env": {"A": {}, "B": "c"}}',
            Stdio("x", env={"B": "c"}),
            "env.A: this should be a text, and it is a map. Not taken.",
        ),
        (
            '{"command": "x", "envFile": ".env"}',
            Stdio("x"),
            "envFile: this is not carried over. Write what the file sets under env, as NAME: ${NAME}.",
        ),
        (
            '{"command": "x", "alwaysAllow": ["a"]}',
            Stdio("x"),
            "alwaysAllow: Pegboard has nothing like this; it is not carried over.",
        ),
    ],
)
def test_what_cannot_be_taken_of_an_entry_is_said(
    machine: Machine, entry: str, connection: Stdio | None, problem: str
) -> None:
    machine.write(CURSOR, f'{{"mcpServers": {{"a": {entry}}}}}')
    found = machine.only()
    assert connections(found) == ({} if connection is None else {"a": connection})
    assert told(found) == [f"1: mcpServers.a.{problem}"]


@pytest.mark.parametrize(
    ("more", "enabled", "limit"),
    [
        ({}, True, EveryTool()),
        ({"disabled": True}, False, EveryTool()),
        ({"disabled": False, "disabledTools": []}, True, EveryTool()),
        ({"enabled": False}, False, EveryTool()),
        ({"disabledTools": ["rm", "mv"]}, True, AllButTools(("rm", "mv"))),
        ({"enabledTools": ["ls"]}, True, OnlyTools(("ls",))),
    ],
)
def test_switches_and_tool_lists_are_carried_over(
    machine: Machine, more: dict[str, object], enabled: bool, limit: ToolFilter
) -> None:
    machine.write(WINDSURF, {"mcpServers": {"a": {"command": "x", **more}}})
    (server,) = machine.only().servers
    assert (server.enabled, server.limit, machine.only().problems) == (enabled, limit, ())


@pytest.mark.parametrize(
    ("place", "written", "ours"),
    [
        (CODE, "${KEY} ${KEY:-d}", "${KEY} ${KEY:-d}"),
        (CODE, "${OWN} $KEY", "$${OWN} $KEY"),
        (DESKTOP, "Authorization:${KEY}", "Authorization:$${KEY}"),
        (CURSOR, "${env:KEY} ${userHome}${/}x ${KEY}", "${KEY} HOME/x $${KEY}"),
        (WINDSURF, "${env:KEY} ${file:/run/key}", "${KEY} ${file:/run/key}"),
        (WINDSURF, "${userHome}", "$${userHome}"),
        (CODE, "${file:/run/key}", "$${file:/run/key}"),
        (WORKSPACE, "${workspaceFolder}/x ${workspaceFolderBasename}", "PROJECT/x project"),
        (VS_CODE, "50% $${ ${ ${a{b}", "50% $$${ $${ $${a{b}"),
        (VS_CODE, "${} ${odd thing}", "$${} $${odd thing}"),
    ],
)
def test_placeholders_are_translated_as_the_client_means_them(
    machine: Machine, place: str, written: str, ours: str
) -> None:
    servers = {"a": {"command": "x", "args": [written], "env": {"OWN": "1"}}}
    machine.write(place, {"servers" if "mcp.json" in place and "cursor" not in place else "mcpServers": servers})
    found = machine.only()
    expected = ours.replace("HOME", str(machine.home)).replace("PROJECT", str(machine.project))
    folder = str(machine.project) if place == WORKSPACE else None
    assert connections(found) == {"a": Stdio("x", (expected,), {"OWN": "1"}, folder)}
    assert told(found) == []


def test_what_an_editor_asks_for_becomes_a_variable_to_set(machine: Machine) -> None:
    machine.write(
        VS_CODE,
        """{
          // Comments and trailing commas are allowed here
          "inputs": [
            {"type": "promptString", "id": "github-token", "description": "GitHub token", "password": true},
            {"type": "pickString", "id": "region", "options": ["eu", "us"], "default": "eu"},
          ],
          "servers": {
            "github": {
              "type": "http",
              "url": "https://h/${input:region}",
              "headers": {"Authorization": "Bearer ${input:github-token}", "X": "${input:unheard of}"},
            },
            "here": {"command": "x", "args": ["${workspaceFolder}", "${config:a.b}"]},
          },
        }""",
    )
    found = machine.only()
    assert connections(found) == {
        "github": Http(
            "https://h/${REGION:-eu}", headers={"Authorization": "Bearer ${GITHUB_TOKEN}", "X": "${UNHEARD_OF}"}
        ),
        "here": Stdio("x", ("${WORKSPACEFOLDER}", "${CONFIG_A_B}")),
    }
    assert told(found) == [
        "11: servers.github.headers.Authorization: VS Code asks for 'github-token' (GitHub token). "
        "Set the environment variable GITHUB_TOKEN.",
        "11: servers.github.headers.X: VS Code asks for 'unheard of'. Set the environment variable UNHEARD_OF.",
        "13: servers.here.args[0]: ${workspaceFolder} is known to VS Code alone. "
        "Set the environment variable WORKSPACEFOLDER.",
        "13: servers.here.args[1]: ${config:a.b} is known to VS Code alone. Set the environment variable CONFIG_A_B.",
    ]


def test_a_dollar_before_a_reference_is_said_to_be_lost(machine: Machine) -> None:
    machine.write(CURSOR, '{"mcpServers": {"a": {"command": "x", "args": ["$${env:A}"]}}}')
    found = machine.only()
    assert connections(found) == {"a": Stdio("x", ("${A}",))}
    assert told(found) == [
        "1: mcpServers.a.args[0]: a '$' directly before a reference cannot be written here. Put it into the variable."
    ]


def test_a_projects_relative_paths_are_meant_from_the_project(machine: Machine) -> None:
    machine.write(
        "project/.mcp.json", {"mcpServers": {"a": {"command": "../bin/x", "cwd": "sub"}, "b": {"command": "y"}}}
    )
    assert connections(machine.only()) == {
        "a": Stdio(f"{machine.project}/../bin/x", cwd=f"{machine.project}/sub"),
        "b": Stdio("y", cwd=str(machine.project)),
    }


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "pegboard", "args": ["stdio"]},
        {"command": "/opt/bin/pegboard", "args": ["stdio", "--config", "x"]},
        {"command": "C:\\tools\\pegboard.exe", "args": ["stdio"]},
        {"command": "uvx", "args": ["pegboard", "stdio"]},
        {"command": "uvx", "args": ["--from", "pegboard[postgres]", "pegboard", "stdio"]},
        {"command": "python3.11", "args": ["-m", "pegboard", "stdio"]},
        {"type": "http", "url": "http://127.0.0.1:8460/mcp"},
        {"url": "http://localhost:8460/mcp?toolsets=a"},
        {"url": "http://localhost:8460/mcp/t/library"},
        {"command": "npx", "args": ["mcp-remote", "http://[::1]:8460/mcp"]},
    ],
)
def test_pegboard_is_not_one_of_its_own_servers(machine: Machine, entry: object) -> None:
    machine.write(CURSOR, {"mcpServers": {"tools": entry}})
    found = machine.only()
    assert found.servers == ()
    (problem,) = found.problems
    assert problem.message == "this is Pegboard itself, which cannot be one of its own servers. Left out."


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx", "args": ["server-filesystem", "/users/ada/pegboard"]},
        {"command": "python", "args": ["pegboard.py"]},
        {"url": "https://example.org:8460/mcp"},
        {"url": "http://127.0.0.1:8461/mcp"},
    ],
)
def test_what_only_looks_like_pegboard_is_taken(machine: Machine, entry: object) -> None:
    machine.write(CURSOR, {"mcpServers": {"pegboard": entry}})
    assert len(machine.only().servers) == 1


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("github", "github"),
        ("GitHub (work)", "github-work"),
        ("Zoë's Büro", "zoe-s-buro"),
        ("@scope/server.name", "scope-server-name"),
        ("--x--", "x"),
        ("日本", "server"),
        ("", "server"),
        ("mcp", "mcp-server"),
        ("All", "all-server"),
        ("a" * 100, "a" * 64),
    ],
)
def test_a_name_that_is_no_id_becomes_one(name: str, id: str) -> None:
    assert slug(name) == id
    assert is_id(id)


def test_a_changed_id_is_said(machine: Machine) -> None:
    machine.write(CURSOR, '{"mcpServers": {"My Server": {"command": "x"}}}')
    assert told(machine.only()) == [
        "1: mcpServers.'My Server': its id becomes 'my-server': "
        "an id has 1 to 64 characters of a-z, 0-9, '_' and '-', the first a letter or digit."
    ]
