"""Commands beside a running gateway: what they change is on its board at once."""

from pathlib import Path

import pytest
from tests.core.boards import key
from tests.support.sentences import not_granted, unknown_tool
from tests.surfaces.cli.terminal import Gateway, Pegboard, by_id, peer

from pegboard.core.decision.rules import RULES
from pegboard.core.decision.status import DeniedByPattern, explain_reason, remedy
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.text import Audience

BOARD = {
    "servers": {
        "three": peer("many", "3", trust="open", disabled_tools=["tool_00002"]),
        "talker": peer("crash_on_call", trust="open"),
        "broken": peer("crash_on_start"),
        "resting": peer("many", "1", enabled=False),
    },
    "deny": ["*:crash_halfway"],
    "grants": {"bob": ["talker"]},
}


@pytest.fixture(autouse=True)
def settled(at_gateway: Pegboard) -> None:
    """Every server that can be up is."""
    for name in ("three", "talker"):
        assert "is up" in at_gateway("servers", "enable", name).out


@pytest.mark.behaviour("cli.servers_list", "counts.in_server_answers", "ids.server_key_in_answers")
def test_servers_are_listed_with_their_health_and_counts(at_gateway: Pegboard, gateway: Gateway) -> None:
    body = at_gateway("servers", "list", "--json").json
    servers = by_id(body["servers"])
    assert body["gatewayRunning"] is True
    assert {
        id: (server["serverId"], server["toolsetId"], server["active"], server["health"]["state"], server["tools"])
        for id, server in servers.items()
        if id != "broken~broken"
    } == {
        "three~three": ("three", "three", True, "up", {"callable": 2, "disabled_by_config": 1}),
        "talker~talker": ("talker", "talker", True, "up", {"callable": 2, "disabled_by_config": 1}),
        "resting~resting": ("resting", "resting", False, "off", {"callable": 0}),
    }
    assert servers["three~three"]["origin"] == {"kind": "declared", "file": str(gateway.config), "line": 3}
    words = [line.split() for line in at_gateway("servers", "list").out.splitlines()]
    assert words[0] == ["SERVER", "STATE", "TRUST", "TOOLS", "FROM"]
    assert words[4] == ["three~three", "up", "open", "2", "callable,", "1", "disabled_by_config", "pegboard.yaml:3"]


@pytest.mark.behaviour("toolsets.added_server_connects", "cli.servers_add", "cli.servers_remove")
def test_an_added_server_runs_at_once_and_a_removed_one_is_gone(at_gateway: Pegboard) -> None:
    words = peer("many", "2")
    command, args = str(words["command"]), words["args"]
    assert isinstance(args, list)
    added = at_gateway("servers", "add", "extra", "--", command, *args)
    assert (added.code, added.out) == (0, "Added extra~extra. It is up: 2 callable.\n")
    called = at_gateway("tools", "call", "mcp:extra~extra:tool_00001", "--arg", "text=hi")
    assert (called.code, called.out) == (0, "tool_00001: hi\n")
    again = at_gateway("servers", "add", "extra", "--", "x")
    assert (again.code, again.err.partition(". ")[0]) == (
        5,
        "pegboard: Server extra~extra is there already: installed by local",
    )
    assert at_gateway("servers", "remove", "extra").code == 0
    assert at_gateway("tools", "show", "mcp:extra~extra:tool_00001").code == 4


def test_an_added_server_that_cannot_start_is_kept_and_told_to_be_down(at_gateway: Pegboard) -> None:
    added = at_gateway("servers", "add", "gone", "--", "no-such-program")
    first, why, last = added.out.splitlines()
    assert (added.code, first, last) == (0, "Added gone~gone.", "See: pegboard servers logs gone~gone")
    assert why.startswith("It is down: command 'no-such-program' was not found")
    assert at_gateway("servers", "remove", "gone").code == 0


@pytest.mark.behaviour("cli.servers_enable_disable", "cli.why")
def test_a_server_that_is_switched_off_locks_its_tools_until_it_is_switched_on(at_gateway: Pegboard) -> None:
    off = at_gateway("servers", "disable", "talker", "--note", "too loud", "--json").json
    assert (off["id"], off["active"]) == ("talker~talker", False)
    why = at_gateway("why", "mcp:talker~talker:echo", "--json").json
    assert (why["verdict"], why["status"]) == ("locked", "server_disabled")
    assert why["message"].startswith("Server talker~talker is off: switched off by local on ")
    assert why["message"].endswith("(too loud).")
    refused = at_gateway("tools", "call", "mcp:talker~talker:echo", "--arg", "text=hi")
    assert refused.code == 5
    assert refused.err.startswith("pegboard: server_disabled: Server talker~talker is off:")
    on = at_gateway("servers", "enable", "talker")
    assert on.out == "talker~talker is switched on. It is up: 2 callable, 1 disabled_by_config.\n"
    assert at_gateway("tools", "call", "mcp:talker~talker:echo", "--arg", "text=hi").out == "hi\n"


@pytest.mark.behaviour("cli.servers_restart")
def test_a_restart_touches_one_server_alone(at_gateway: Pegboard) -> None:
    def since() -> dict[str, str]:
        servers = at_gateway("servers", "list", "--json").json["servers"]
        return {server["id"]: server["health"].get("since", "") for server in servers}

    before = since()
    restarted = at_gateway("servers", "restart", "three")
    assert restarted.out.startswith("three~three was restarted. It is up: 2 callable")
    after = since()
    assert after["three~three"] > before["three~three"]
    assert after["talker~talker"] == before["talker~talker"]
    resting = at_gateway("servers", "restart", "resting")
    assert (resting.code, resting.err) == (
        5,
        "pegboard: Server resting~resting is not running. Try: pegboard servers enable resting~resting\n",
    )


@pytest.mark.behaviour("cli.not_up_is_a_failure")
def test_a_restart_after_which_the_server_is_down_fails_with_the_reason(at_gateway: Pegboard) -> None:
    told = "broken~broken was restarted.\nIt is down: exited with code 3.\nSee: pegboard servers logs broken~broken"
    in_words = at_gateway("servers", "restart", "broken")
    assert (in_words.code, in_words.out, in_words.err) == (1, "", f"pegboard: {told}\n")
    failed = at_gateway("servers", "restart", "broken", "--json")
    assert (failed.code, failed.json["error"], failed.json["exit"]) == (1, told, 1)
    assert (failed.json["id"], failed.json["health"]["state"]) == ("broken~broken", "down")


@pytest.mark.behaviour("cli.not_up_is_a_failure")
def test_a_server_at_an_address_that_is_down_has_no_log_to_look_at(at_gateway: Pegboard) -> None:
    added = at_gateway("servers", "add", "nowhere", "--url", "http://127.0.0.1:9/mcp")
    assert added.code == 0
    assert "It is down: " in added.out
    assert added.out.endswith("\nIt is tried again by itself.\n")
    again = at_gateway("servers", "restart", "nowhere")
    # Down, or tried again already.
    assert (again.code, "servers logs" in again.err) == (1, False)
    assert at_gateway("servers", "remove", "nowhere").code == 0


@pytest.mark.behaviour("cli.servers_logs")
def test_what_a_server_wrote_is_shown(at_gateway: Pegboard) -> None:
    body = at_gateway("servers", "logs", "broken", "--json").json
    assert body["id"] == "broken~broken"
    assert body["lines"][-1] == "crash_on_start: giving up"
    nothing = at_gateway("servers", "logs", "three")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "three~three has written nothing.\n")


@pytest.mark.behaviour("cli.tools_show")
def test_one_tool_is_shown_with_its_schema_status_and_remedy(at_gateway: Pegboard) -> None:
    tool = ToolId(key("talker~talker"), "crash_halfway")
    denied = DeniedByPattern(tool, Pattern("*", "crash_halfway"), DeclaredAt("pegboard.yaml", 37))
    body = at_gateway("tools", "show", "crash_halfway", "--json").json
    assert {key: body[key] for key in ("id", "wireName", "verdict", "status", "remedy")} == {
        "id": "mcp:talker~talker:crash_halfway",
        "wireName": "crash_halfway",
        "verdict": "locked",
        "status": "disabled_by_config",
        "remedy": remedy(denied, Audience.OPERATOR),
    }
    assert body["inputSchema"]["type"] == "object"
    shown = at_gateway("tools", "show", "crash_halfway").out.splitlines()
    assert shown[:4] == [
        "mcp:talker~talker:crash_halfway",
        f"  locked: disabled_by_config. {explain_reason(denied)}",
        f"  {remedy(denied, Audience.OPERATOR)}",
        "  name for clients: crash_halfway",
    ]
    assert "takes:" in shown


@pytest.mark.behaviour("cli.tools_filtered")
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--state", "locked"], ["crash_halfway", "tool_00002"]),
        (["--state", "locked,open", "--server", "three"], ["tool_00000", "tool_00001", "tool_00002"]),
        (["--server", "talker~talker", "--q", "CRASH half"], ["crash_halfway"]),
        (["--provider", "builtin"], []),
        (["--q", "echo", "--state", "missing"], []),
        (["--hint", "destructive"], []),
        (["--as", "bob", "--state", "open"], ["crash", "echo"]),
    ],
)
def test_tools_are_filtered_as_the_wall_is(at_gateway: Pegboard, words: list[str], names: list[str]) -> None:
    listed = at_gateway("tools", "list", *words, "--json").json["tools"]
    assert sorted(tool["name"] for tool in listed) == names
    if not names:
        told = "No tool passes these filters. See: pegboard servers list, pegboard doctor\n"
        assert at_gateway("tools", "list", *words).out == told


@pytest.mark.behaviour("cli.tools_filtered")
def test_a_state_that_there_is_not_is_told_with_those_that_there_are(at_gateway: Pegboard) -> None:
    told = at_gateway("tools", "list", "--state", "shut")
    assert told.code == 2
    assert "'shut' is none of open, locked, needs_action, broken, missing" in told.err


@pytest.mark.behaviour("ids.shown_is_accepted")
def test_every_name_that_a_list_shows_is_taken_by_every_command(at_gateway: Pegboard) -> None:
    tools = at_gateway("tools", "list", "--json").json["tools"]
    assert len(tools) == 6
    for tool in tools:
        for name in {tool["id"], tool["wireName"]}:
            assert at_gateway("tools", "show", name, "--json").json["id"] == tool["id"]
            assert at_gateway("why", name, "--json").json["id"] == tool["id"]
            narrowed = at_gateway("tools", "list", "--toolsets", "", "--enabled-tools", name, "--json").json["tools"]
            assert [one["id"] for one in narrowed if one["verdict"] != "hidden"] == [tool["id"]]


@pytest.mark.behaviour("cli.tools_call")
def test_a_call_ends_with_a_code_for_how_it_ended(at_gateway: Pegboard) -> None:
    said = at_gateway("tools", "call", "echo", "-", stdin='{"text": "from stdin"}')
    assert (said.code, said.out) == (0, "from stdin\n")
    misfit = at_gateway("tools", "call", "tool_00000", '{"text": 1}')
    assert misfit.code == 5
    assert misfit.err.startswith("pegboard: The arguments do not fit mcp:three~three:tool_00000:\n- text: ")
    locked = at_gateway("tools", "call", "tool_00002", "--json")
    assert (locked.code, locked.json["outcome"]) == (5, "disabled_by_config")
    unknown = at_gateway("tools", "call", "ecko", "--json")
    # In the moment of its next attempt, a server that failed before may be about to list the name.
    while " is starting (attempt " in unknown.json["error"]:
        unknown = at_gateway("tools", "call", "ecko", "--json")
    assert (unknown.code, unknown.json) == (
        4,
        {
            "error": "Unknown tool 'ecko'. Did you mean 'echo'? "
            "Not up, so its tools are not known: broken~broken, resting~resting. See: pegboard tools list",
            "exit": 4,
        },
    )
    absent = at_gateway("tools", "call", "echo", "--toolsets", "three")
    assert (absent.code, absent.err) == (
        4,
        f"pegboard: {unknown_tool('mcp:talker~talker:echo')} For the reason: pegboard why echo\n",
    )
    crashed = at_gateway("tools", "call", "crash")
    assert crashed.code == 6
    assert crashed.err.endswith("It may have run: check before you call again.\n")
    assert at_gateway("servers", "restart", "talker").code == 0


@pytest.mark.behaviour("cli.why", "explain.every_step")
def test_why_tells_every_step_for_an_open_and_a_locked_tool(at_gateway: Pegboard) -> None:
    opened = at_gateway("why", "echo")
    assert opened.out.splitlines()[:4] == [
        "mcp:talker~talker:echo",
        "  open, as echo",
        "",
        "  ✓ Does the board's selection choose it?  yes: toolsets all",
    ]
    assert "✗" not in opened.out
    locked = at_gateway("why", "tool_00002", "--json").json
    assert [step["question"] for step in locked["steps"] if not step["passes"]] == [
        "Does its server's enabled_tools or disabled_tools let it?"
    ]
    assert len(locked["steps"]) == 2 + len(RULES)


@pytest.mark.behaviour("cli.why_for_a_view", "explain.absent_names_the_step")
def test_why_answers_for_a_narrowed_request_and_another_caller(at_gateway: Pegboard) -> None:
    def removed(*words: str) -> list[str]:
        body = at_gateway("why", "tool_00000", "--json", *words).json
        assert body["verdict"] == "hidden"
        return [body["message"], *(step["answer"] for step in body["steps"] if not step["passes"])]

    assert removed("--as", "bob") == [not_granted("bob", "three", "talker"), "granted: talker"]
    assert removed("--toolsets", "talker,resting") == [
        "The request's own narrowing leaves it out: toolsets talker, resting.",
        "toolsets talker, resting",
    ]
    assert removed("--disabled-tools", "tool_00000") == [
        "The request's own narrowing leaves it out: toolsets all, minus tool_00000.",
        "toolsets all, minus tool_00000",
    ]
    assert removed("--toolsets", "", "--enabled-tools", "echo") == [
        "The request's own narrowing leaves it out: toolsets none, plus echo.",
        "toolsets none, plus echo",
    ]
    for words in (("--as", "carol"), ("--toolsets", "ALL"), ("--toolsets", "", "--enabled-tools", "tool_00000")):
        assert at_gateway("why", "tool_00000", "--json", *words).json["verdict"] == "open"
    refused = at_gateway("why", "echo", "--toolsets", "talkers", "--json")
    assert refused.code == 4
    assert (
        refused.json["error"]
        == "Unknown toolset 'talkers'. Did you mean 'talker'? Toolsets to choose from: talker, three."
    )


def test_a_server_that_does_not_exist_is_told_with_the_nearest(at_gateway: Pegboard, home: Path) -> None:
    for words in (("remove",), ("enable",), ("disable",), ("restart",), ("logs",)):
        missing = at_gateway("servers", *words, "tree")
        assert (missing.code, missing.err) == (4, "pegboard: There is no server 'tree'. Did you mean 'three'?\n")
    strange = at_gateway("servers", "logs", "../status", "--json")
    assert strange.code == 4
    assert strange.json["error"].startswith("There is no server '../status': an id has 1 to 64 characters")
