"""Commands while no gateway runs: what the file and the store say, and servers started for one command alone."""

from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard, board, by_id, of_board, of_folder, peer, serving, usual_board

NO_GATEWAY = "No gateway is running here; this is what the store and the file say. Start it: pegboard serve\n"


def test_a_new_user_is_told_how_to_begin(pegboard: Pegboard) -> None:
    listed = pegboard("servers", "list")
    assert listed.code == 0
    assert listed.out == "No servers yet. Add one:  pegboard servers add NAME -- COMMAND ARGS…   or   pegboard import\n"
    assert listed.err == NO_GATEWAY
    assert pegboard("tools", "list").out == "No tools. See: pegboard servers list, pegboard doctor\n"
    assert pegboard("doctor").code == 0


@pytest.mark.behaviour("cli.version")
def test_the_version_is_printed(pegboard: Pegboard) -> None:
    assert pegboard("version").out == "pegboard 0.1.0\n"
    assert pegboard("version", "--json").json == {"version": "0.1.0"}
    assert pegboard("--version").out == "pegboard 0.1.0\n"


@pytest.mark.behaviour("cli.servers_add", "toolsets.standalone_server_by_command_or_url", "ids.server_key_in_answers")
def test_an_added_server_is_there_in_the_next_command(pegboard: Pegboard, home: Path) -> None:
    added = pegboard("servers", "add", "two", "--", *peer_words("many", "2"))
    assert (added.code, added.out) == (0, "Added two~two. It starts with the gateway: pegboard serve\n")
    by_url = pegboard("servers", "add", "far", "--url", "http://127.0.0.1:9/mcp", "--json").json
    assert (by_url["id"], by_url["serverId"], by_url["toolsetId"]) == ("far~far", "far", "far")
    assert by_url["connection"] == {"transport": "http", "url": "http://127.0.0.1:9/mcp", "headers": {}}

    body = pegboard("servers", "list", "--json").json
    assert body["gatewayRunning"] is False
    assert [(server["id"], server["active"], server["userMcp"]) for server in body["servers"]] == [
        ("far~far", True, True),
        ("two~two", True, True),
    ]
    shown = pegboard("servers", "list").out
    assert [line.split() for line in shown.splitlines()[1:]] == [
        ["far~far", "on", "baseline", "installed", "by", "local"],
        ["two~two", "on", "baseline", "installed", "by", "local"],
    ]


def test_a_server_added_by_a_file_of_this_folder_starts_in_this_folder(pegboard: Pegboard, home: Path) -> None:
    (home / "server.py").touch()
    here = pegboard("servers", "add", "here", "--json", "--", "python3", "server.py").json
    assert here["connection"]["cwd"] == str(home)
    anywhere = pegboard("servers", "add", "anywhere", "--json", "--", "npx", "-y", "some-server").json
    assert anywhere["connection"]["cwd"] is None
    by_path = pegboard("servers", "add", "by-path", "--json", "--", "./server.py").json
    assert by_path["connection"]["command"] == str(home / "server.py")
    (home / "sub").mkdir()
    said = pegboard("servers", "add", "said", "--cwd", "sub", "--json", "--", "python3", "server.py").json
    assert said["connection"]["cwd"] == str(home / "sub")


@pytest.mark.behaviour("config.secrets_are_not_shown")
def test_a_secret_given_to_a_server_is_shown_by_no_command(pegboard: Pegboard) -> None:
    words = (
        "--env",
        "API_TOKEN=swordfish-1",
        "--env",
        "PLAIN=${A_NAME}",
        "--json",
        "--",
        "x",
        "--token",
        "swordfish-2",
    )
    added = pegboard("servers", "add", "safe", *words)
    assert added.json["connection"] == {
        "transport": "stdio",
        "command": "x",
        "args": ["--token", "***"],
        "env": {"API_TOKEN": "***", "PLAIN": "${A_NAME}"},
        "cwd": None,
    }
    # On a busy machine it tells first that it waits.
    assert added.err == (
        "! API_TOKEN is kept in the store as you wrote it. A reference is not: API_TOKEN=${A_VARIABLE}\n"
        "! env.PLAIN: ${A_NAME} stands for nothing: the environment variable A_NAME is not set. "
        "Set it before the gateway starts, or write ${A_NAME:-a default}.\n"
    )
    header = pegboard(
        "servers", "add", "far", "--url", "https://x.example", "--header", "Authorization=Bearer swordfish"
    )
    listed = pegboard("servers", "list", "--json")
    told = [added.out, added.err, header.out, header.err, listed.out, pegboard("doctor").out]
    assert not any("swordfish" in text for text in told)


@pytest.mark.behaviour("cli.servers_add_takes_every_key")
def test_what_a_server_may_say_in_the_file_is_said_by_an_option(pegboard: Pegboard) -> None:
    waits = ("--start", "on-demand", "--idle-stop", "90s", "--start-timeout", "2m", "--call-timeout", "5")
    more = (
        "--protocol",
        "handshake",
        "--stop-timeout",
        "500ms",
        "--enabled-tools",
        "read_*, find",
        "--disabled",
        "--json",
        "--",
        "x",
    )
    program = pegboard("servers", "add", "seldom", *waits, *more).json
    assert {key: program[key] for key in ("active", "start", "idleStop", "protocol", "timeouts", "enabledTools")} == {
        "active": False,
        "start": "on_demand",
        "idleStop": 90.0,
        "protocol": "handshake",
        "timeouts": {"start": 120.0, "call": 5.0, "stop": 0.5},
        "enabledTools": ["read_*", "find"],
    }
    url = ("--url", "https://x.example/mcp", "--json")
    signing = ("--client-id", "peg", "--client-secret", "swordfish", "--scopes", "read,write", "--disabled-tools", "")
    added = pegboard("servers", "add", "guarded", *url, *signing)
    assert added.json["connection"]["oauth"] == {
        "client_id": "peg",
        "client_secret": "***",
        "client_metadata_url": None,
        "scopes": ["read", "write"],
    }
    assert added.json["disabledTools"] == []
    assert added.err.startswith("! client_secret is kept in the store as you wrote it.")
    never = pegboard("servers", "add", "open", *url, "--no-oauth").json
    assert (never["connection"]["oauth"], never["start"]) == (False, "always")
    document = pegboard("servers", "add", "known", *url, "--client-metadata-url", "https://x.example/peg.json").json
    assert document["connection"]["oauth"]["client_metadata_url"] == "https://x.example/peg.json"


@pytest.mark.behaviour("cli.servers_add_takes_every_key")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--idle-stop", "5m", "--", "x"), "idle_stop: this goes only with start: on_demand."),
        (("--start", "on-demand", "--idle-stop", "never", "--", "x"), "idle_stop: this must be seconds"),
        (("--call-timeout", "soon", "--", "x"), "timeouts.call: this must be seconds"),
        (("--url", "http://h", "--client-secret", "x"), "oauth.client_secret: this goes only with client_id."),
        (("--no-oauth", "--", "x"), "oauth: this goes only with url."),
        (("--enabled-tools", "a", "--disabled-tools", "b", "--", "x"), "enabled_tools and disabled_tools exclude"),
        (("--url", "http://h", "--header", "Host=x"), "headers.Host: 'Host' cannot be a name here"),
        (("--url", "http://h", "--no-oauth", "--scopes", "a"), "--no-oauth and the options to sign in exclude"),
    ],
)
def test_what_the_file_would_refuse_is_refused_as_an_option_too(
    pegboard: Pegboard, words: tuple[str, ...], told: str
) -> None:
    refused = pegboard("servers", "add", "bad", *words)
    assert refused.code == 2
    assert told in refused.err


@pytest.mark.behaviour("cli.servers_remove")
def test_a_removed_server_is_gone_and_a_declared_one_stays(pegboard: Pegboard, home: Path) -> None:
    config = board(home / "pegboard.yaml", {"mine": peer("many", "1")})
    pegboard("servers", "add", "extra", "--", "x")
    removed = pegboard("servers", "remove", "extra")
    assert (removed.code, removed.out) == (0, "Removed extra~extra.\n")
    refused = pegboard("servers", "remove", "mine")
    assert (refused.code, refused.out) == (5, "")
    told = f"pegboard: Server mine~mine is declared at {config}:3. Remove it there.\n"
    assert refused.err == of_folder(home) + told
    assert [server["id"] for server in pegboard("servers", "list", "--json").json["servers"]] == ["mine~mine"]


@pytest.mark.behaviour("cli.servers_enable_disable")
def test_a_switch_holds_for_the_next_command(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {"two": peer("many", "2", trust="open")})
    assert pegboard("servers", "disable", "two", "--note", "too loud").out == "two~two is switched off.\n"
    tools = pegboard("tools", "list", "--json")
    assert (tools.json["tools"], tools.err) == ([], of_folder(home) + usual_board(home, empty=False))
    on = pegboard("servers", "enable", "two~two")
    assert on.out == "two~two is switched on. It starts with the gateway: pegboard serve\n"
    assert len(pegboard("tools", "list", "--json").json["tools"]) == 2


@pytest.mark.behaviour("cli.toolsets_enable_disable", "explain.every_step")
def test_one_remedy_after_the_other_opens_a_tool_whose_toolset_and_server_are_off(
    pegboard: Pegboard, home: Path
) -> None:
    board(home / "pegboard.yaml", {"one": peer("many", "1", trust="open", toolset="dev")})
    assert pegboard("why", "tool_00000", "--json").json["verdict"] == "open"
    # Off, a server lists nothing, and of what nobody listed there is nothing to explain: so it is asked of a gateway.
    with serving(home, home / "pegboard.yaml", home / "data"):
        at = ("--data-dir", home / "data")
        while pegboard("why", "tool_00000", "--json", *at).json.get("verdict") != "open":
            pass
        assert pegboard("servers", "disable", "one", *at).code == 0
        assert pegboard("toolsets", "disable", "dev", "--note", "on leave", *at).out == (
            "Toolset dev is switched off.\n"
        )
        first = pegboard("why", "tool_00000", "--json", *at).json
        assert (first["message"].startswith("Toolset dev is off: switched off by local"), first["remedy"]) == (
            True,
            "Enable the toolset first: pegboard toolset enable dev",
        )
        half = pegboard("servers", "enable", "one", *at)
        assert half.err == "! The toolset dev is off, so dev~one stays off with it: pegboard toolset enable dev\n"
        assert pegboard("servers", "disable", "one", *at).code == 0
        assert pegboard("toolsets", "enable", "dev", *at).out == "Toolset dev is switched on.\n"
        then = pegboard("why", "tool_00000", "--json", *at).json
        assert (then["message"].startswith("Server dev~one is off: switched off by local"), then["remedy"]) == (
            True,
            "Enable the server first: pegboard servers enable dev~one",
        )
        assert "It is up" in pegboard("servers", "enable", "one", *at).out
        assert pegboard("why", "tool_00000", "--json", *at).json["verdict"] == "open"
        missing = pegboard("toolsets", "enable", "dve", *at)
        assert (missing.code, missing.err) == (4, "pegboard: There is no toolset 'dve'. Did you mean 'dev'?\n")
        assert pegboard("toolsets", "enable", "../x", *at).code == 4


@pytest.mark.behaviour("cli.tools_list", "cli.progress")
def test_tools_are_listed_by_servers_started_for_the_command(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {"two": peer("many", "2", trust="open", disabled_tools=["tool_00001"])})
    listed = pegboard("tools", "list")
    assert listed.err == of_folder(home) + "  ● two~two: 2 tools\n" + usual_board(home)
    assert listed.out == (
        "TOOL                      NAME FOR CLIENTS  STATUS\n"
        "● mcp:two~two:tool_00000  tool_00000        open\n"
        "○ mcp:two~two:tool_00001  tool_00001        disabled_by_config\n"
        "\n"
        "1 of 2 can be called. For a reason: pegboard why TOOL\n"
    )
    only = pegboard("tools", "list", "--open", "--json").json["tools"]
    assert [tool["id"] for tool in only] == ["mcp:two~two:tool_00000"]


@pytest.mark.behaviour("cli.tools_call")
def test_a_call_by_id_starts_the_server_of_that_tool_alone(pegboard: Pegboard, home: Path) -> None:
    board(
        home / "pegboard.yaml",
        {"good": peer("crash_on_call", trust="open"), "bad": peer("crash_on_start"), "hung": peer("hung")},
    )
    called = pegboard("tools", "call", "mcp:good~good:echo", '{"text": "grüße"}')
    told = f"{of_folder(home)}  ● good~good: 3 tools\n{usual_board(home)}"
    assert (called.code, called.out, called.err) == (0, "grüße\n", told)


def test_a_server_that_fails_does_not_hide_the_others(pegboard: Pegboard, home: Path) -> None:
    servers = {
        "good": peer("many", "1", trust="open"),
        "bad": peer("crash_on_start"),
        "none": {"command": "no-such-one"},
    }
    board(home / "pegboard.yaml", servers)
    listed = pegboard("tools", "list", "--json")
    assert [tool["id"] for tool in listed.json["tools"]] == ["mcp:good~good:tool_00000"]
    assert sorted(listed.err.removeprefix(of_folder(home)).splitlines()) == [
        usual_board(home).removesuffix("\n"),
        "  ○ bad~bad is down: exited with code 3",
        "  ○ none~none is down: command 'no-such-one' was not found on the PATH. Install it, or write its full path",
        "  ● good~good: 1 tool",
    ]


@pytest.mark.behaviour("cli.servers_logs")
def test_the_log_of_a_server_that_dies_at_once_is_shown(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {"bad": peer("crash_on_start"), "hung": peer("hung")})
    shown = pegboard("servers", "logs", "bad")
    assert shown.code == 0
    assert shown.err == of_folder(home) + "  ○ bad~bad is down: exited with code 3\n"
    # It is tried again after less than a second, so there may be more of the same.
    assert shown.out.startswith(
        "crash_on_start: reading settings\ncrash_on_start: DATABASE_URL is not set\ncrash_on_start: giving up\n"
    )


def test_nothing_can_be_restarted_while_nothing_runs(pegboard: Pegboard) -> None:
    refused = pegboard("servers", "restart", "x")
    assert refused.code == 6
    assert refused.err == (
        "pegboard: no gateway is running here, so there is nothing to restart. Start it: pegboard serve\n"
    )


@pytest.mark.behaviour("config.data_dir")
def test_the_data_directory_is_the_flags_then_the_environments_then_the_users(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = pegboard("doctor", "--json").json["dataDir"]
    assert usual == str(home / ".local" / "share" / "pegboard")
    monkeypatch.setenv("PEGBOARD_DATA_DIR", str(home / "named"))
    assert pegboard("doctor", "--json").json["dataDir"] == str(home / "named")
    pegboard("servers", "add", "here", "--data-dir", "flag", "--", "x")
    assert by_id(pegboard("servers", "list", "--json", "--data-dir", home / "flag").json["servers"]).keys() == {
        "here~here"
    }
    assert pegboard("servers", "list", "--json").json["servers"] == []
    assert (home / "flag").stat().st_mode & 0o777 == 0o700


def peer_words(name: str, *arguments: str) -> list[str]:
    started = peer(name, *arguments)
    args = started["args"]
    assert isinstance(args, list)
    return [str(started["command"]), *args]


@pytest.mark.behaviour("cli.which_board")
@pytest.mark.parametrize(
    "words",
    [
        ("approvals", "list"),
        ("tickets", "list"),
        ("tickets", "show", "h6644errhk"),
        ("tools", "enable", "get_book"),
        ("overrides", "list"),
        ("activity", "list"),
    ],
)
def test_an_answer_from_a_board_that_no_gateway_serves_says_which_one_it_is(
    pegboard: Pegboard, home: Path, words: tuple[str, ...]
) -> None:
    assert pegboard(*words).err.startswith(usual_board(home))
    assert pegboard(*words, "--data-dir", home / "other").err.startswith(of_board(home / "other"))
