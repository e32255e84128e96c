"""From the text of a file to the verdicts on tools: what the operator writes is what the board does."""

from datetime import UTC, datetime

import pytest
from tests.config.loading import problems, settings

from pegboard.core.commands.first_sight import servers_to_run
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, resolve
from pegboard.core.model.catalogue import Listing, ProviderOff, ProviderUp, build_catalogue
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import AllButTools, DeclaredAt
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Policy

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def verdicts(text: str, *tools: str) -> dict[str, str]:
    """Every server of the file offers these tools. Open, absent, or the status of the lock, by server and tool."""
    policy = Policy(settings(text).declared)
    up = servers_to_run(policy)
    listings = [
        Listing(
            key,
            ProviderUp(NOW) if key in up else ProviderOff(),
            tuple(Tool(ToolId(key, name), ToolSpec(name)) for name in tools),
        )
        for key in policy.servers
    ]
    told = {}
    for id, verdict in resolve(build_catalogue(listings), policy, View()).verdicts.items():
        match verdict:
            case OpenTool():
                told[str(id)] = "open"
            case HiddenTool():
                told[str(id)] = "absent"
            case LockedTool():
                told[str(id)] = verdict.status.value
    return told


@pytest.mark.behaviour("config.enabled_tools_lock_the_rest")
def test_with_enabled_tools_every_other_tool_of_the_server_is_locked() -> None:
    text = """\
        servers:
          a: {command: x, trust: open, enabled_tools: [read, list_*]}
          b: {command: x, trust: open}
        """
    assert verdicts(text, "read", "list_all", "write") == {
        "mcp:a~a:read": "open",
        "mcp:a~a:list_all": "open",
        "mcp:a~a:write": "disabled_by_config",
        "mcp:b~b:read": "open",
        "mcp:b~b:list_all": "open",
        "mcp:b~b:write": "open",
    }


@pytest.mark.behaviour("config.disabled_tools_lock")
def test_disabled_tools_are_locked_by_name_pattern_or_id() -> None:
    text = "servers: {a: {command: x, trust: open, toolset: t, disabled_tools: 'drop_*, mcp:t~a:write'}}"
    assert verdicts(text, "read", "write", "drop_all") == {
        "mcp:t~a:read": "open",
        "mcp:t~a:write": "disabled_by_config",
        "mcp:t~a:drop_all": "disabled_by_config",
    }


@pytest.mark.behaviour("config.deny_patterns")
def test_a_denied_tool_is_locked_on_every_server() -> None:
    text = """\
        servers: {a: {command: x, trust: open}, b: {url: "http://h", trust: open}}
        deny: ["*:delete_*", "b:read"]
        """
    assert verdicts(text, "read", "delete_all") == {
        "mcp:a~a:read": "open",
        "mcp:a~a:delete_all": "disabled_by_config",
        "mcp:b~b:read": "disabled_by_config",
        "mcp:b~b:delete_all": "disabled_by_config",
    }


@pytest.mark.behaviour("config.server_enabled")
def test_a_server_that_is_declared_off_is_not_wanted_and_its_tools_are_locked_once_known() -> None:
    text = "servers: {a: {command: x, enabled: false}, b: {command: x}}"
    assert [*servers_to_run(Policy(settings(text).declared))] == [ServerKey(ToolsetId("b"), ServerId("b"))]
    assert verdicts(text, "read")["mcp:a~a:read"] == "server_disabled"


def test_a_toolset_that_is_declared_off_locks_all_its_servers() -> None:
    text = "servers: {a: {command: x, toolset: t}, b: {command: x, toolset: t}}\ntoolsets: {t: {enabled: false}}"
    assert verdicts(text, "read") == {"mcp:t~a:read": "server_disabled", "mcp:t~b:read": "server_disabled"}


@pytest.mark.behaviour("config.trust")
@pytest.mark.parametrize(
    ("trust", "status"), [("open", "open"), ("baseline", "pending_approval"), ("strict", "pending_approval")]
)
def test_trust_says_whether_a_tool_nobody_has_seen_is_open(trust: str, status: str) -> None:
    assert verdicts(f"servers: {{a: {{command: x, trust: {trust}}}}}", "read") == {"mcp:a~a:read": status}


@pytest.mark.behaviour("config.selection", "selection.baseline_at_start")
def test_the_selection_decides_what_is_on_the_board_at_all() -> None:
    text = """\
        servers: {a: {command: x, trust: open}, b: {command: x, trust: open}}
        selection: {toolsets: a, enabled_tools: mcp:b~b:write, disabled_tools: ["a:wri*"]}
        """
    assert verdicts(text, "read", "write") == {
        "mcp:a~a:read": "open",
        "mcp:a~a:write": "absent",
        "mcp:b~b:read": "absent",
        "mcp:b~b:write": "open",
    }


@pytest.mark.behaviour("names.optional")
def test_every_list_of_names_takes_a_map_that_marks_a_name_as_optional() -> None:
    text = """\
        servers:
          files:
            command: x
            disabled_tools: [drop, {name: gone, optional: true}, {name: kept}]
        selection:
          toolsets: [files, {name: wiki, optional: true}]
          disabled_tools:
            - {name: old_tool, optional: true}
            - delete_file
        deny:
          - {name: "files:purge", optional: true}
          - files:erase
        always_visible: [{name: read, optional: true}]
        """
    loaded = settings(text)
    (limit,) = [server.limit for server in loaded.declared.servers.values()]
    assert limit == AllButTools(("drop", "gone", "kept"), DeclaredAt("pegboard.yaml", 4), ("gone",))
    assert loaded.declared.optional_names == {"wiki", "old_tool"}
    chosen = TheseToolsets(("files", "wiki"))
    assert loaded.declared.selection == Selection(chosen, disabled=("old_tool", "delete_file"))
    assert loaded.declared.selection_line("delete_file") == DeclaredAt("pegboard.yaml", 9)
    assert [denial.optional for denial in loaded.declared.denials] == [True, False]
    assert [listed.optional for listed in loaded.declared.presentation.always_visible] == [True]
    assert loaded.unknown_toolsets(()) == ()
    needed = [denial.text for denial in Policy(loaded.declared).exact_denials]
    assert needed == ["delete_file", "drop", "kept", "files:erase"]


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("{optional: true}", "this is missing. The name."),
        ("{name: a, optonal: true}", "unknown key. Did you mean 'optional'?"),
        ("{name: a, optional: 1}", "this must be true or false, without quotes, and it is 1."),
        ("{name: [a]}", "this must be a text"),
    ],
)
def test_a_map_that_is_not_a_name_is_told(entry: str, what: str) -> None:
    assert any(what in problem for problem in problems(f"selection: {{disabled_tools: [{entry}]}}"))
