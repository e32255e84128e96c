"""Many lists become one, and one that can be written down without a secret in it."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.config.machine import Machine

from pegboard.config.clients.merge import ExtractedSecret, extract_secrets, format_yaml, merge_lists
from pegboard.config.clients.placeholders import ClientApp, ClientServerList
from pegboard.config.settings import Settings, load_settings_text
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId, is_id
from pegboard.core.model.server import AllButTools, Connection, DeclaredAt, Http, OnlyTools, Server, Stdio, Transport


def server(id: str, connection: Connection, file: str = "list.json", line: int = 1) -> Server:
    return Server(ServerKey(ToolsetId(id), ServerId(id)), connection, DeclaredAt(file, line))


def found(client: ClientApp, *servers: Server) -> ClientServerList:
    return ClientServerList(client, Path("list.json"), servers, keys=tuple(f"mcpServers.{one.id}" for one in servers))


def test_the_same_server_in_two_lists_is_one_and_on_if_it_is_on_in_one() -> None:
    here = server("a", Stdio("x", ("1",)))
    there = replace(here, enabled=False, origin=DeclaredAt("other.json", 9))
    result = merge_lists([found(ClientApp.CURSOR, there), found(ClientApp.WINDSURF, here)])
    assert (result.servers, result.problems) == ((replace(there, enabled=True),), ())


def test_servers_that_only_share_an_id_are_told_apart_by_their_client() -> None:
    one, two, three = (
        server("db", Stdio("x")),
        server("db", Stdio("y"), "b.json", 4),
        server("db", Stdio("z"), "c.json", 5),
    )
    again = server("db", Stdio("y"), "d.json", 6)
    result = merge_lists(
        [found(ClientApp.CLAUDE_DESKTOP, one), found(ClientApp.CURSOR, two, three), found(ClientApp.CURSOR, again)]
    )
    assert [(str(one.key), one.connection) for one in result.servers] == [
        ("db~db", Stdio("x")),
        ("db-cursor~db-cursor", Stdio("y")),
        ("db-cursor-2~db-cursor-2", Stdio("z")),
    ]
    assert [str(problem) for problem in result.problems] == [
        "b.json:4: db: another server has this id already (list.json:1) and is not the same;"
        " this one becomes 'db-cursor'.",
        "c.json:5: db: another server has this id already (list.json:1) and is not the same;"
        " this one becomes 'db-cursor-2'.",
    ]


def test_a_server_of_the_user_and_of_a_project_is_one_in_the_projects_folder() -> None:
    users, projects = server("a", Stdio("x")), server("a", Stdio("x", cwd="/shop"), "b.json", 2)
    for lists in ((users, projects), (projects, users)):
        result = merge_lists(found(ClientApp.CURSOR, one) for one in lists)
        assert [one.connection for one in result.servers] == [Stdio("x", cwd="/shop")]
    other = server("a", Stdio("x", cwd="/other"))
    assert len(merge_lists([found(ClientApp.CURSOR, projects), found(ClientApp.CURSOR, other)]).servers) == 2


def test_problems_are_known_by_the_server_they_are_about(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("home/.cursor/mcp.json", '{"mcpServers": {"a": {"command": "x", "z": 1}, "a.b": {"command": "y"}}}')
    machine.write("home/.codeium/windsurf/mcp_config.json", '{"mcpServers": {"a": {"command": "other"}, "c": 1}}')
    result = merge_lists(machine.find())
    assert {id: [problem.key for problem in notes] for id, notes in result.notes.items()} == {
        "a": ["mcpServers.a.z"],
        "a-b": ["mcpServers.'a.b'"],
        "a-windsurf": ["a"],
    }
    assert [problem.key for problem in result.problems] == ["mcpServers.a.z", "mcpServers.'a.b'", "mcpServers.c", "a"]


def test_references_stay_as_they_are_and_are_among_the_variables_to_set(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    code = machine.write(
        "project/.mcp.json", '{"mcpServers": {"a": {"command": "x", "env": {"API_KEY": "${API_KEY}"}}}}'
    )
    editor = machine.write(
        "project/.vscode/mcp.json", '{"servers": {"b": {"url": "https://h", "headers": {"X": "${input:my-key}"}}}}'
    )
    assert (
        format_yaml(merge_lists(machine.find()).servers)
        == f"""\
# Set these environment variables before Pegboard starts:
#   API_KEY  which a refers to, see {code}:1
#   MY_KEY  which b refers to, see {editor}:1
servers:
  a:
    command: x
    env:
      API_KEY: ${{API_KEY}}
    cwd: {machine.project}
  b:
    url: https://h
    headers:
      X: ${{MY_KEY}}
"""
    )


def test_two_names_for_one_program_stay_two() -> None:
    result = merge_lists([found(ClientApp.CURSOR, server("db", Stdio("x")), server("db-2", Stdio("x")))])
    assert [one.id for one in result.servers] == ["db", "db-2"]


@given(
    st.lists(
        st.tuples(st.sampled_from(ClientApp), st.sampled_from(["a" * 64, "b", "b-cursor"]), st.sampled_from("xyz"))
    )
)
def test_ids_of_one_list_are_legal_and_unique(rows: list[tuple[ClientApp, str, str]]) -> None:
    servers = merge_lists([found(client, server(id, Stdio(command))) for client, id, command in rows]).servers
    ids = [one.id for one in servers]
    assert len(ids) == len({*ids})
    assert all(is_id(id) for id in ids)


def test_a_fragment_holds_no_secret_and_says_what_to_set() -> None:
    servers = [
        replace(
            server(
                "github",
                Stdio(
                    "npx",
                    ("-y", "server", "--api-key", "hunter2", "--header", "Authorization: Bearer hunter2x"),
                    {
                        "GITHUB_TOKEN": "hunter2",
                        "LOG_LEVEL": "debug",
                        "ROOT": "/srv/data",
                        "UNCLEAR": "hunter2",
                        "DSN": "postgres://u:hunter2@${HOST}/db",
                        "PASSWORD": "hunter2${SALT}",
                        "SET": "${ALREADY:-8080}",
                        "FALLBACK_TOKEN": "${MINE:-hunter2}",
                    },
                    "/srv",
                ),
                "/users/ada/.cursor/mcp.json",
                7,
            ),
            enabled=False,
            limit=AllButTools(("rm",)),
        ),
        replace(
            server(
                "web",
                Http(
                    "https://u:hunter2@h/mcp?api_key=hunter2&page=2",
                    Transport.SSE,
                    {"Authorization": "Bearer hunter2", "Accept": "text/x", "X-Team": "hunter2"},
                ),
                "/users/ada/.cursor/mcp.json",
                20,
            ),
            limit=OnlyTools(()),
        ),
    ]
    at = "/users/ada/.cursor/mcp.json"
    assert (
        format_yaml(servers)
        == f"""\
# Set these environment variables before Pegboard starts:
#   GITHUB_TOKEN  the GITHUB_TOKEN of github, see {at}:7
#   GITHUB_UNCLEAR  the UNCLEAR of github, see {at}:7
#   GITHUB_DSN  the DSN of github, see {at}:7
#   GITHUB_PASSWORD  the PASSWORD of github, see {at}:7
#   MINE  the FALLBACK_TOKEN of github, see {at}:7
#   GITHUB_API_KEY  the api_key of github, see {at}:7
#   GITHUB_AUTHORIZATION  the authorization of github, see {at}:7
#   WEB_AUTHORIZATION  the Authorization of web, see {at}:20
#   WEB_X_TEAM  the X-Team of web, see {at}:20
#   WEB_PASSWORD  the password of web, see {at}:20
#   WEB_API_KEY  the api_key of web, see {at}:20
#   HOST  which github refers to, see {at}:7
#   SALT  which github refers to, see {at}:7
servers:
  github:
    command: npx
    args:
      - -y
      - server
      - --api-key
      - ${{GITHUB_API_KEY}}
      - --header
      - 'Authorization: Bearer ${{GITHUB_AUTHORIZATION}}'
    env:
      GITHUB_TOKEN: ${{GITHUB_TOKEN}}
      LOG_LEVEL: debug
      ROOT: /srv/data
      UNCLEAR: ${{GITHUB_UNCLEAR}}
      DSN: postgres://${{GITHUB_DSN}}@${{HOST}}/db
      PASSWORD: ${{GITHUB_PASSWORD}}${{SALT}}
      SET: ${{ALREADY:-8080}}
      FALLBACK_TOKEN: ${{MINE}}
    cwd: /srv
    enabled: false
    disabled_tools:
      - rm
  web:
    url: https://${{WEB_PASSWORD}}@h/mcp?api_key=${{WEB_API_KEY}}&page=2
    transport: sse
    headers:
      Authorization: Bearer ${{WEB_AUTHORIZATION}}
      Accept: text/x
      X-Team: ${{WEB_X_TEAM}}
    enabled_tools: []
"""
    )


def test_variables_are_named_apart_unless_their_values_are_the_same() -> None:
    servers = [
        server("git", Stdio("x", env={"HUB_KEY": "one"})),
        server("git-hub", Stdio("x", env={"KEY": "two"})),
        server("7zip", Stdio("x", env={"KEY": "one"})),
        server("git_hub", Stdio("x", env={"KEY": "one"})),
    ]
    emptied, secrets = extract_secrets(servers)
    assert [one.connection for one in emptied] == [
        Stdio("x", env={"HUB_KEY": "${GIT_HUB_KEY}"}),
        Stdio("x", env={"KEY": "${GIT_HUB_KEY_2}"}),
        Stdio("x", env={"KEY": "${PEGBOARD_7ZIP_KEY}"}),
        Stdio("x", env={"KEY": "${GIT_HUB_KEY}"}),
    ]
    assert secrets == (
        ExtractedSecret("GIT_HUB_KEY", "git", "HUB_KEY", "list.json:1"),
        ExtractedSecret("GIT_HUB_KEY_2", "git-hub", "KEY", "list.json:1"),
        ExtractedSecret("PEGBOARD_7ZIP_KEY", "7zip", "KEY", "list.json:1"),
    )


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
values = words | st.sampled_from(
    ["yes", "null", "0o7", "1.10", "${A}", "$${", "a: b", "- x", "#", "'", "\n", "~", "é😀"]
)


def well_formed(text: str) -> str:
    return text.replace("${", "$${")


@given(
    command=st.sampled_from(["x", "yes", "0o7", "1", "a b", "${A:-b}"]),
    args=st.lists(values.map(well_formed), max_size=4),
    env=st.dictionaries(words.filter(lambda name: "=" not in name), values.map(well_formed), max_size=3),
)
def test_a_fragment_loads_as_the_servers_it_was_made_of(command: str, args: list[str], env: dict[str, str]) -> None:
    original = server("a", Stdio(command, tuple(args), env, "/srv"))
    (emptied,), _ = extract_secrets([original])
    loaded = load_settings_text(format_yaml([original]), "pegboard.yaml", Path("/etc"), {})
    assert isinstance(loaded, Settings), str(loaded)
    (read,) = loaded.declared.servers.values()
    assert read.connection == emptied.connection


def test_a_comment_cannot_be_left_by_what_stands_in_it() -> None:
    text = format_yaml([server("a", Stdio("x", env={"K\nstore: evil": "hunter2"}), "a\nb: c")])
    assert text.splitlines()[:3] == [
        "# Set these environment variables before Pegboard starts:",
        "#   A_K_STORE_EVIL  the K?store: evil of a, see a?b: c:1",
        "servers:",
    ]


def test_no_servers_make_an_empty_fragment_that_loads() -> None:
    assert format_yaml([]) == "servers: {}\n"


@pytest.mark.parametrize(
    "value", ["true", "info", "8080", "30s", "/srv/a b", "~/x", "C:\\x\\y", "https://h/x?page=1", "localhost:80", ""]
)
def test_what_is_plainly_no_secret_stays_readable(value: str) -> None:
    (emptied,), secrets = extract_secrets([server("a", Stdio("x", env={"SETTING": value}))])
    assert (emptied.connection, secrets) == (Stdio("x", env={"SETTING": value}), ())


@pytest.mark.parametrize("name", ["PIN", "db_password", "apiKey", "SESSION_SECRET"])
def test_a_harmless_value_under_the_name_of_a_secret_is_taken_for_one(name: str) -> None:
    (emptied,), secrets = extract_secrets([server("a", Stdio("x", env={name: "1234"}))])
    assert emptied.connection == Stdio("x", env={name: f"${{{secrets[0].variable}}}"})
    assert [secret.key for secret in secrets] == [name]


def test_lists_of_a_whole_machine_become_one_board(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.project.mkdir()
    files = {"command": "npx", "args": ["-y", "files", "/srv"]}
    machine.write("home/.config/Claude/claude_desktop_config.json", {"mcpServers": {"Files": files}})
    machine.write("home/.claude.json", {"mcpServers": {"files": {"type": "stdio", **files}}})
    machine.write("home/.cursor/mcp.json", {"mcpServers": {"files": {"url": "https://h/mcp"}}})
    machine.write("project/.vscode/mcp.json", '{"servers": {"web": {"url": "https://w/${env:TEAM}",},},}')
    result = merge_lists(machine.find())
    loaded = load_settings_text(format_yaml(result.servers), "pegboard.yaml", tmp_path, {"TEAM": "a"})
    assert isinstance(loaded, Settings), str(loaded)
    assert {one.id: one.connection for one in loaded.declared.servers.values()} == {
        "files": Stdio("npx", ("-y", "files", "/srv"), cwd=str(tmp_path)),
        "files-cursor": Http("https://h/mcp"),
        "web": Http("https://w/${TEAM}"),
    }
    assert loaded.warnings == ()
