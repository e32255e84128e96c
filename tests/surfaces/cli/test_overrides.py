"""Overrides at the terminal: set, shown with whose word they are, and cleared."""

from collections.abc import Iterator

import pytest
from tests.core.boards import key
from tests.surfaces.cli.terminal import Gateway, Pegboard, peer

from pegboard.core.decision.status import DeniedByPattern, explain_reason
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt

BOARD = {
    "servers": {"free": peer("everyday", trust="open")},
    "overrides": {"free": {"*:*": {"renderer": "json"}}},
    "deny": ["*:shrink"],
}
ECHO = "mcp:free~free:echo"


@pytest.fixture(autouse=True)
def as_it_was(at_gateway: Pegboard) -> Iterator[None]:
    assert "is up" in at_gateway("servers", "enable", "free").out
    yield
    at_gateway("overrides", "clear", ECHO)


@pytest.mark.behaviour("overrides.by_every_road", "overrides.clearable", "overrides.whose_word")
def test_an_override_is_set_shown_and_cleared(at_gateway: Pegboard) -> None:
    done = at_gateway("overrides", "set", "echo", "--name-override", "Say again", "--requires-confirmation")
    assert (done.code, done.out) == (0, f"{ECHO} in free: sets name_override, requires_confirmation.\n")
    listed = at_gateway("overrides", "list").out.splitlines()
    assert listed[0].split() == ["TOOLSET", "TARGET", "FIELD", "VALUE", "FROM"]
    assert listed[1].split()[:4] == ["free", "*:*", "renderer", "json"]
    assert "pegboard.yaml:" in listed[1]
    assert listed[2].split()[:5] == ["free", ECHO, "name_override", "Say", "again"]
    why = at_gateway("why", "echo").out
    assert "~ renderer is json  " in why
    assert "~ requires_confirmation is true  local, " in why
    gone = at_gateway("overrides", "clear", "echo", "name_override")
    assert gone.out == f"{ECHO} in free: sets requires_confirmation.\n"
    assert at_gateway("overrides", "clear", "echo").out == f"{ECHO} in free: sets nothing any more.\n"
    again = at_gateway("overrides", "clear", "echo")
    assert (again.code, "No person has overridden" in again.err) == (5, True)


@pytest.mark.behaviour("overrides.arguments_on_every_road", "overrides.pin_cannot_be_sent")
def test_a_pinned_argument_is_put_in_and_cannot_be_sent(at_gateway: Pegboard) -> None:
    assert at_gateway("overrides", "set", "echo", "--pin", "text=ours").code == 0
    assert at_gateway("tools", "call", "echo").out == "ours\n"
    done = at_gateway("overrides", "set", "echo", "--pin", "text=from the operator")
    assert (done.code, done.err) == (0, "")
    assert at_gateway("tools", "call", "echo").out == "***\n"
    refused = at_gateway("tools", "call", "echo", "--arg", "text=hi")
    assert refused.code == 5
    assert "text: there is no such argument" in refused.err
    shown = at_gateway("overrides", "show", "echo", "--json").json
    assert {field["field"]: field["value"] for field in shown["fields"]} == {
        "renderer": "json",
        "arguments.text.pin": "***",
    }
    assert shown["inputSchema"]["properties"] == {}
    words = at_gateway("overrides", "show", "echo").out
    assert "from the operator" not in words
    assert "arguments.text.pin" in words


@pytest.mark.behaviour("overrides.nearest_switch_wins", "overrides.without_effect_is_told")
def test_a_switch_that_holds_against_an_override_is_told_and_why_does_not_contradict_itself(
    at_gateway: Pegboard,
) -> None:
    assert at_gateway("tools", "enable", "echo").out == f"{ECHO} is switched on.\n"
    assert at_gateway("overrides", "set", "free:*", "--not-enabled").out == "free:* in free: sets enabled.\n"
    assert at_gateway("why", "echo", "--json").json["status"] == "disabled_by_user"
    assert at_gateway("tools", "enable", "echo").out == (
        f"{ECHO} is switched on, against an override that takes it away. Its switch stays the stronger.\n"
    )
    again = at_gateway("overrides", "set", "free:*", "--not-enabled").out.splitlines()
    assert again[0] == "free:* in free: sets enabled."
    assert again[1].startswith(f"! {ECHO}: enabled has no effect now: its own switch is on, by local on ")
    why = at_gateway("why", "echo").out
    assert "- enabled is false  local, " in why
    assert "(free:*): without effect, because its own switch is on, by local on " in why
    table, *below = at_gateway("overrides", "show", "echo").out.partition("- enabled (free:*): without effect")
    assert ("enabled" in table, bool(below[0])) == (False, True)
    at_gateway("overrides", "clear", "free:*")
    assert at_gateway("tools", "enable", "echo").out == f"{ECHO} is switched on.\n"


@pytest.mark.behaviour("overrides.without_effect_is_told")
def test_who_switches_on_what_the_file_denies_is_told_that_it_stays_locked(at_gateway: Pegboard) -> None:
    on = at_gateway("tools", "enable", "shrink")
    assert on.code == 0
    shrink = ToolId(key("free~free"), "shrink")
    denied = explain_reason(DeniedByPattern(shrink, Pattern("*", "shrink"), DeclaredAt("pegboard.yaml", 0)))
    stays = "is switched on, and stays locked all the same: disabled_by_config."
    assert on.out.startswith(f"{shrink} {stays} {denied.partition(').')[0]}")


@pytest.mark.behaviour("overrides.no_secret_in_the_store")
def test_no_secret_gets_into_the_store_and_a_reference_does(gateway: Gateway, at_gateway: Pegboard) -> None:
    refused = at_gateway("overrides", "set", "echo", "--pin", "text=ghp_0123456789abcdefABCDEF")
    assert (refused.code, refused.err.startswith("pegboard: arguments.text.pin: this looks like a secret")) == (2, True)
    assert "ghp_0123" not in refused.err
    assert at_gateway("overrides", "set", "echo", "--pin", "text=Bearer ${ECHO_TOKEN}").code == 0
    kept = b"".join(file.read_bytes() for file in gateway.data_dir.glob("pegboard.db*"))
    assert (b"Bearer ${ECHO_TOKEN}" in kept, b"ghp_0123" in kept) == (True, False)


def test_what_is_wrong_is_told_and_nothing_is_changed(at_gateway: Pegboard) -> None:
    for words, code, what in (
        (("echo",), 2, "nothing to set"),
        (("echo", "--renderer", "x"), 2, "renderer: this must be one of code"),
        (("echo", "--renderer-config", "[]"), 2, "must be a JSON object"),
        (("echo", "--pin", "nope=1"), 2, "arguments.nope: the tool takes no such argument"),
        (("ehco", "--enabled"), 4, "echo"),
        (("*:e*", "--enabled"), 4, "--toolset"),
    ):
        done = at_gateway("overrides", "set", *words)
        assert (done.code, what in done.err) == (code, True), done.err
    assert at_gateway("overrides", "clear", "echo", "nope").code == 2
    assert [row["declared"] for row in at_gateway("overrides", "list", "--json").json["overrides"]] == [True]


@pytest.mark.behaviour("overrides.rendered", "overrides.renderer_catalogue")
def test_a_call_is_rendered_and_the_renderers_are_told(at_gateway: Pegboard) -> None:
    called = at_gateway("tools", "call", "echo", "--arg", "text=hi", "--json").json
    assert (called["rendered"]["renderer"], called["rendered"]["config"]) == ("json", {"value": "hi"})
    assert at_gateway("overrides", "renderers").out.splitlines()[1].split()[:2] == ["code", "file,"]
    assert len(at_gateway("overrides", "renderers", "--json").json["renderers"]) == 16


@pytest.mark.behaviour("overrides.empty_config_is_a_value")
def test_an_empty_renderer_config_replaces_the_one_before(at_gateway: Pegboard) -> None:
    at_gateway("overrides", "set", "echo", "--renderer", "code", "--renderer-config", '{"language": "python"}')
    done = at_gateway("overrides", "set", "echo", "--renderer", "markdown", "--renderer-config", "{}")
    assert (done.code, done.out) == (0, f"{ECHO} in free: sets renderer, renderer_config.\n")
    shown = at_gateway("overrides", "show", "echo", "--json").json
    assert {field["field"]: field["value"] for field in shown["fields"]} == {
        "renderer": "document",
        "renderer_config": {},
    }
    assert shown["mismatches"] == []
    alone = at_gateway("overrides", "set", "echo", "--renderer-config", "{}")
    assert (alone.code, alone.out) == (0, done.out)


@pytest.mark.behaviour("toolsets.chosen_by_lists")
def test_a_toolset_is_chosen_by_what_to_include_and_exclude(at_gateway: Pegboard) -> None:
    try:
        tried = at_gateway("toolset", "choice", "free", "--include", "echo", "--exclude", "*", "--dry-run")
        assert "1 of " in tried.out
        assert "0 added" in tried.out
        assert at_gateway("toolset", "choice", "free", "--json").json["excludes"] == []
        done = at_gateway("toolset", "choice", "free", "--include", "echo", "--exclude", "*")
        assert done.out.splitlines()[-1].startswith("1 of ")
        told = at_gateway("toolset", "choice", "free", "--json").json
        assert [each["target"] for each in told["includes"]] == [ECHO]
        assert {each["name"] for each in told["tools"] if each["change"] == "in"} == {"echo"}
        wrong = at_gateway("toolset", "choice", "free", "--include", "*", "--exclude", "*", "--dry-run")
        assert (wrong.code, "is among what to include and what to exclude" in wrong.err) == (2, True)
        both = at_gateway("toolset", "choice", "free", "--include", "*", "--clear")
        assert (both.code, "--clear goes with neither" in both.err) == (2, True)
    finally:
        left = at_gateway("toolset", "choice", "free", "--clear")
    assert left.code == 0
    assert "exclude" not in left.out
