"""Where the lists of other clients are found, on each system."""

from pathlib import Path

import pytest
from tests.config.machine import Machine, connections, told

from pegboard.config.clients.discover import find_client_lists, read_list
from pegboard.config.clients.placeholders import ClientApp, ClientServerList
from pegboard.config.schema.document import FileProblem
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import DeclaredAt, Http, Server, Stdio, Transport

ONE = {"mcpServers": {"one": {"command": "x"}}}
SERVERS = {"servers": {"one": {"type": "stdio", "command": "x"}}}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("platform", "place", "content", "client"),
    [
        ("darwin", "home/Library/Application Support/Claude/claude_desktop_config.json", ONE, ClientApp.CLAUDE_DESKTOP),
        ("win32", "home/AppData/Roaming/Claude/claude_desktop_config.json", ONE, ClientApp.CLAUDE_DESKTOP),
        ("linux", "home/.config/Claude/claude_desktop_config.json", ONE, ClientApp.CLAUDE_DESKTOP),
        ("linux", "home/.claude.json", ONE, ClientApp.CLAUDE_CODE),
        ("linux", "project/.mcp.json", ONE, ClientApp.CLAUDE_CODE),
        ("darwin", "home/.cursor/mcp.json", ONE, ClientApp.CURSOR),
        ("linux", "project/.cursor/mcp.json", ONE, ClientApp.CURSOR),
        ("darwin", "home/Library/Application Support/Code/User/mcp.json", SERVERS, ClientApp.VS_CODE),
        ("win32", "home/AppData/Roaming/Code/User/mcp.json", SERVERS, ClientApp.VS_CODE),
        ("linux", "home/.config/Code/User/mcp.json", SERVERS, ClientApp.VS_CODE),
        ("linux", "home/.config/Code - Insiders/User/mcp.json", SERVERS, ClientApp.VS_CODE),
        ("linux", "home/.config/Code/User/settings.json", {"mcp": SERVERS}, ClientApp.VS_CODE),
        ("linux", "home/.config/Code/User/settings.json", {"mcp.servers": SERVERS["servers"]}, ClientApp.VS_CODE),
        ("linux", "project/.vscode/mcp.json", SERVERS, ClientApp.VS_CODE),
        ("win32", "home/.codeium/windsurf/mcp_config.json", ONE, ClientApp.WINDSURF),
    ],
)
def test_each_client_is_found_where_it_keeps_its_list(
    machine: Machine, platform: str, place: str, content: object, client: ClientApp
) -> None:
    machine.platform = platform
    path = machine.write(place, content)
    found = machine.only()
    one = Stdio("x", cwd=str(machine.project) if place.startswith("project/") else None)
    assert (found.client, found.path, connections(found), found.problems) == (client, path, {"one": one}, ())


def test_the_environment_can_name_other_folders(machine: Machine) -> None:
    machine.environ = {"XDG_CONFIG_HOME": str(machine.root / "xdg"), "CLAUDE_CONFIG_DIR": str(machine.root / "claude")}
    machine.write("home/.config/Claude/claude_desktop_config.json", ONE)
    machine.write("home/.claude.json", ONE)
    desktop = machine.write("xdg/Claude/claude_desktop_config.json", ONE)
    code = machine.write("claude/.claude.json", ONE)
    assert [found.path for found in machine.find()] == [desktop, code]
    machine.platform, machine.environ = "win32", {"APPDATA": str(machine.root / "roaming")}
    windows = machine.write("roaming/Claude/claude_desktop_config.json", ONE)
    assert windows in [found.path for found in machine.find()]


def test_nothing_is_found_on_an_empty_machine(machine: Machine) -> None:
    assert machine.find() == ()


def test_a_list_that_is_the_users_and_the_projects_is_found_once(machine: Machine) -> None:
    machine.write("home/.cursor/mcp.json", ONE)
    machine.write("home/.mcp.json", ONE)
    found = find_client_lists(machine.home, machine.home, "linux", {})
    assert [one.path.name for one in found] == [".mcp.json", "mcp.json"]


def test_a_whole_server_knows_where_it_was_found(machine: Machine) -> None:
    path = machine.write("home/.cursor/mcp.json", '{\n "mcpServers": {\n  "a": {"url": "https://h/mcp"}\n }\n}')
    assert machine.only() == ClientServerList(
        ClientApp.CURSOR,
        path,
        (
            Server(
                key=ServerKey(ToolsetId("a"), ServerId("a")),
                connection=Http("https://h/mcp", Transport.STREAMABLE_HTTP),
                origin=DeclaredAt(str(path), 3),
            ),
        ),
        keys=("mcpServers.a",),
    )


def test_every_project_of_a_named_file_is_taken_with_its_folder(machine: Machine) -> None:
    path = machine.write(
        "home/.claude.json",
        {
            "numStartups": 7,
            "mcpServers": {"user": {"type": "stdio", "command": "x"}},
            "projects": {
                "/code/shop": {
                    "mcpServers": {
                        "local": {"command": "./serve", "args": ["--root", "."]},
                        "plain": {"command": "npx", "args": ["-y", "y"]},
                    },
                    "disabledMcpServers": ["plain"],
                    "history": [{"display": "x"}],
                },
                "/code/empty": {},
                "/code/null": None,
            },
        },
    )
    found = read_list(path, machine.home, "linux")
    assert {server.id: (server.connection, server.enabled) for server in found.servers} == {
        "user": (Stdio("x"), True),
        "local": (Stdio("/code/shop/./serve", ("--root", "."), cwd="/code/shop"), True),
        "plain": (Stdio("npx", ("-y", "y"), cwd="/code/shop"), False),
    }
    assert found.problems == ()


@pytest.mark.parametrize("below", ["", "src/deep"])
def test_only_the_project_around_the_folder_is_taken_and_the_others_are_told(machine: Machine, below: str) -> None:
    here, outer, empty = str(machine.project), str(machine.root), str(machine.project / "src")
    two = {"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}
    projects = {"/other/path": two, outer: ONE, here: {"mcpServers": {"own": {"command": "y"}}}, empty: {}}
    machine.write("home/.claude.json", {"projects": projects})
    (found,) = find_client_lists(machine.home, machine.project / below, "linux", {})
    assert connections(found) == {"own": Stdio("y", cwd=here)}
    assert told(found) == [
        f"2: projects: 3 servers of other projects were left out: 2 in '/other/path', 1 in {outer!r}. "
        "Run pegboard import in that folder to bring them over."
    ]


def test_a_single_server_of_another_project_is_told_when_the_folder_is_in_none(machine: Machine) -> None:
    machine.write("home/.claude.json", {"projects": {f"{machine.project}-2": ONE, "": {"mcpServers": []}}})
    found = machine.only()
    assert found.servers == ()
    (problem,) = told(found)
    assert problem.startswith(
        f"2: projects: 1 server of another project was left out: 1 in {str(machine.project) + '-2'!r}. "
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"mcpServers": {"a": {"command": "x"}', "1: mcpServers.a: the file ends where ',' or '}' should be."),
        ("[]", "1: : this is not a list of servers. Nothing was taken."),
        ('{"mcpServers": []}', "1: mcpServers: this should be a map of servers, and it is a list. Nothing was taken."),
    ],
)
def test_a_broken_list_is_told_and_the_others_are_read(machine: Machine, content: str, problem: str) -> None:
    machine.write("home/.cursor/mcp.json", content)
    machine.write("home/.codeium/windsurf/mcp_config.json", ONE)
    broken, whole = machine.find()
    assert (broken.servers, told(broken)) == ((), [problem])
    assert connections(whole) == {"one": Stdio("x")}


@pytest.mark.parametrize("content", ["", "{}", "// nothing\n", '{"mcpServers": {}}', '{"mcpServers": null}'])
def test_an_empty_list_is_no_problem(machine: Machine, content: str) -> None:
    path = machine.write("home/.cursor/mcp.json", content)
    assert machine.only() == ClientServerList(ClientApp.CURSOR, path)


def test_a_list_that_is_no_text_is_told(machine: Machine) -> None:
    path = machine.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(b'{"a": "\xff"}')
    problem = FileProblem(str(path), 1, "", "the byte 0xFF is not UTF-8. Save the file as UTF-8.")
    assert machine.only() == ClientServerList(ClientApp.CURSOR, path, (), (problem,))


@pytest.mark.parametrize(
    ("place", "client"),
    [
        ("project/somewhere/claude_desktop_config.json", ClientApp.CLAUDE_DESKTOP),
        ("project/a/.mcp.json", ClientApp.CLAUDE_CODE),
        ("project/a/.vscode/mcp.json", ClientApp.VS_CODE),
        ("project/a/.cursor/mcp.json", ClientApp.CURSOR),
        ("project/mcp_config.json", ClientApp.WINDSURF),
        ("project/servers.json", ClientApp.UNKNOWN),
    ],
)
def test_a_file_that_a_person_names_is_known_by_its_name(machine: Machine, place: str, client: ClientApp) -> None:
    found = read_list(machine.write(place, ONE), machine.home, "linux")
    folder = str(machine.project / "a") if place.startswith("project/a/") else None
    assert (found.client, connections(found)) == (client, {"one": Stdio("x", cwd=folder)})


def test_a_list_pasted_into_yaml_is_read_too(machine: Machine) -> None:
    path = machine.write("project/pegboard.yaml", "mcpServers:\n  a: {command: x, env: {A: '${B}'}}\n")
    found = read_list(path, machine.home, "linux")
    assert (connections(found), found.problems) == ({"a": Stdio("x", env={"A": "${B}"})}, ())
    other = read_list(machine.write("project/package.json", {"name": "x"}), machine.home, "linux")
    (problem,) = other.problems
    assert problem.message.startswith("no servers are listed in it, neither under mcpServers nor under servers. ")
    missing = read_list(machine.project / "no.json", machine.home, "linux")
    assert [problem.message for problem in missing.problems] == ["there is no such file. Check the path, or create it."]
