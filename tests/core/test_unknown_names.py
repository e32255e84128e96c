"""Names in settings that no tool has: what is reported, and which tools a misspelled denial locks (ADR 16)."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.core.boards import (
    DEV_FILES,
    FILE,
    GITHUB,
    MATH,
    ME,
    NOW,
    PERSON,
    Board,
    board,
    key,
    server,
    tool,
    toolset,
)
from tests.support.collect_failures import each_case

from pegboard.config.docspace_toolsets import tool_ids
from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.decision.status import LockStatus, NearUnknownDenial, explain_reason, remedy
from pegboard.core.decision.unknown_names import UnknownName, unknown_names, with_suspects
from pegboard.core.explain.explain import explain
from pegboard.core.explain.states import ActionKind, suggest_action
from pegboard.core.model.catalogue import Catalogue, Listing, ProviderDown, ProviderOff, ProviderStart, ProviderUp
from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import BuiltinKey, ServerKey, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern, parse_pattern
from pegboard.core.model.references import NameReference, edit_distance, misspellings
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import AllButTools, DeclaredAt, EveryTool, OnlyTools, ToolFilter, Trust
from pegboard.core.model.settings import PinnedEntry, PresentationSettings
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override
from pegboard.core.policy.policy import Approval, Denial, ExactDenial, Switch

AT = DeclaredAt("/srv/pegboard.yaml", 14)
GET, LIST = ToolId(GITHUB, "widget_get"), ToolId(GITHUB, "list_widgets")
READ, DELETE = ToolId(DEV_FILES, "read_file"), ToolId(DEV_FILES, "delete_file")
TOOLS = tuple(tool(id.source, id.name) for id in (GET, LIST, READ, DELETE))
OPEN = board(TOOLS)
IDS = (GET, LIST, READ, DELETE)


def disabling(*names: str, on: Board = OPEN) -> Board:
    lines = dict.fromkeys(names, AT)
    made = on.declaring(selection=Selection(disabled=names))
    declared = replace(made.policy.declared, selection_lines=lines)
    return replace(made, policy=replace(made.policy, declared=declared))


def locked(made: Board) -> set[ToolId]:
    verdicts = resolve(made.catalogue, made.policy, View(ME)).verdicts
    return {id for id, one in verdicts.items() if isinstance(one, LockedTool)}


def unknown_locks(made: Board) -> set[ToolId]:
    verdicts = resolve(made.catalogue, made.policy, View(ME)).verdicts
    return {
        id for id, one in verdicts.items() if isinstance(one, LockedTool) and isinstance(one.reason, NearUnknownDenial)
    }


def texts(made: Board) -> list[str]:
    return [str(each) for each in unknown_names(made.catalogue, made.policy)]


@pytest.mark.behaviour("names.denial_fails_closed")
def test_a_misspelled_denial_locks_the_tool_it_may_mean_and_says_so() -> None:
    made = disabling("widget_gett")
    verdict = resolve(made.catalogue, made.policy, View(ME)).verdicts[GET]
    assert isinstance(verdict, LockedTool)
    assert verdict.status is LockStatus.DISABLED_UNKNOWN
    assert explain_reason(verdict.reason) == (
        "selection.disabled_tools names 'widget_gett' (pegboard.yaml:14), which no tool has; "
        "it may mean mcp:dev~github:widget_get."
    )
    assert remedy(verdict.reason, Audience.AGENT) == (
        "Ask the user to correct the entry in pegboard.yaml, or mark it as optional: "
        "{name: widget_gett, optional: true}"
    )
    assert remedy(verdict.reason, Audience.OPERATOR).startswith(
        "Correct the entry in pegboard.yaml, or mark it as optional: "
    )
    action = suggest_action(verdict, made.policy)
    assert (action.kind, action.target) == (ActionKind.EDIT_FILE, "/srv/pegboard.yaml:14")
    assert locked(made) == {GET}


def override(target: ToolId | Pattern, **said: object) -> Override:
    row = Override(ToolsetId("dev"), target, is_declared=True, origins={"enabled": AT})
    return replace(row, **said)  # type: ignore[arg-type]  # checked by dataclasses


MISSPELLED = ToolId(GITHUB, "widget_gett")
DENIALS = {
    "selection": disabling("widget_gett"),
    "an id in the selection": disabling("mcp:dev~github:widget_gett"),
    "an id without mcp:": disabling("github:widget_gett"),
    "a name for clients": disabling("dev__github__widget_gett"),
    "an unknown server": disabling("mcp:dev~gihub:widget_get"),
    "another case": disabling("Widget-Get"),
    "a server's own list": OPEN.with_server(server(GITHUB, limit=AllButTools(("widget_gett",), AT))),
    "a scoped name of a server": OPEN.with_server(server(GITHUB, limit=AllButTools(("github:widget_gett",), AT))),
    "deny": OPEN.declaring(denials=(Denial(Pattern("*", "widget_gett"), AT),)),
    "deny with a scope": OPEN.declaring(denials=(Denial(Pattern("github", "widget_gett"), AT),)),
    "deny with an unknown scope": OPEN.declaring(denials=(Denial(Pattern("gihub", "widget_get"), AT),)),
    "enabled: false": OPEN.declaring(overrides=(override(MISSPELLED, enabled=False),)),
    "enabled: false by name": OPEN.declaring(overrides=(override(Pattern("github", "widget_gett"), enabled=False),)),
    "requires_confirmation": OPEN.declaring(overrides=(override(MISSPELLED, requires_confirmation=True),)),
    "confirmation by a ticket": OPEN.declaring(overrides=(override(MISSPELLED, confirmation=ConfirmationMode.TICKET),)),
    "a hidden argument": OPEN.declaring(
        overrides=(override(MISSPELLED, arguments={"path": ArgumentOverride(hide=True)}),)
    ),
}


@pytest.mark.behaviour("names.denial_fails_closed")
@pytest.mark.parametrize("kind", DENIALS)
def test_every_kind_of_exact_denial_fails_closed(kind: str) -> None:
    assert unknown_locks(DENIALS[kind]) == {GET}


def test_an_unknown_toolset_among_the_denials_locks_the_nearest_one() -> None:
    assert unknown_locks(disabling("toolset:dv")) == {*IDS}
    assert unknown_locks(disabling("mcp:dev~gihub")) == {GET, LIST}


def test_a_name_that_two_servers_share_is_a_denial_of_both() -> None:
    twice = board([tool(DEV_FILES, "read"), tool(replace(DEV_FILES, toolset=ToolsetId("docs")), "read")])
    assert unknown_locks(disabling("mcp:files:read", on=twice)) == {*twice.tools}


def test_the_gateways_own_tools_are_known_whether_or_not_they_are_listed() -> None:
    assert texts(disabling("python_execution")) == []
    made = disabling("python_executon")
    assert [*with_suspects(made.catalogue, made.policy).suspects] == [ToolId(BuiltinKey(), "python_execution")]


@pytest.mark.behaviour("names.denial_fails_closed")
@pytest.mark.parametrize(
    "made",
    [
        OPEN.declaring(selection=Selection(enabled=("widget_gett",))),
        OPEN.declaring(denials=(Denial(Pattern("github", "widget_gett*"), AT),)),
        disabling("github:widget_gett*"),
        OPEN.declaring(overrides=(override(MISSPELLED, description_override="Gets"),)),
        OPEN.declaring(overrides=(override(MISSPELLED, confirmation=ConfirmationMode.IN_CLIENT),)),
        OPEN.declaring(overrides=(override(Pattern("*", "widget_gett*"), enabled=False),)),
        disabling("something_else_entirely"),
    ],
)
def test_what_opens_nothing_or_has_wildcards_or_is_near_nothing_locks_nothing(made: Board) -> None:
    assert locked(made) == set()
    assert len(texts(made)) == 1


def test_a_denial_over_every_server_is_for_tools_to_come_and_reports_nothing() -> None:
    made = OPEN.declaring(denials=(Denial(Pattern("*", "drop_*"), AT),))
    assert (locked(made), texts(made)) == (set(), [])


OPTIONAL = (
    replace(
        disabling("widget_gett"),
        policy=replace(
            disabling("widget_gett").policy,
            declared=replace(disabling("widget_gett").policy.declared, optional_names=frozenset({"widget_gett"})),
        ),
    ),
    OPEN.with_server(server(GITHUB, limit=AllButTools(("widget_gett",), AT, optional=("widget_gett",)))),
    OPEN.declaring(denials=(Denial(Pattern("*", "widget_gett"), AT, optional=True),)),
    OPEN.declaring(overrides=(override(MISSPELLED, enabled=False, is_optional=True),)),
)


@pytest.mark.behaviour("names.optional")
@pytest.mark.parametrize("made", OPTIONAL)
def test_an_optional_entry_locks_nothing_and_is_no_error(made: Board) -> None:
    assert (locked(made), texts(made)) == (set(), [])


@pytest.mark.behaviour("names.denial_fails_closed")
def test_a_tool_is_never_open_between_its_server_listing_it_and_the_denial_being_judged() -> None:
    """From before its server has listed anything, in whatever order the servers list: no resolution has it open."""
    made = disabling("widget_gett")
    silent = Catalogue({GITHUB: Listing(GITHUB, ProviderStart(1, NOW))})
    assert resolve(silent, made.policy, View(ME)).verdicts == {}
    github, files = made.catalogue.listings[GITHUB], made.catalogue.listings[DEV_FILES]
    for listings in ([github], [github, Listing(DEV_FILES, ProviderStart(1, NOW))], [files, github]):
        now = Catalogue({each.source: each for each in listings})
        assert isinstance(resolve(now, made.policy, View(ME)).verdicts[GET], LockedTool)


def test_deciding_and_explaining_agree_about_a_misspelled_denial() -> None:
    made = disabling("widget_gett")
    trail = explain(made.catalogue, made.policy, View(ME), GET)
    assert trail is not None
    step = trail.steps[-1]
    assert (step.question, step.passes) == ("Is every denial with a name near its own about another tool?", False)
    assert step.answer.startswith("disabled_unknown: selection.disabled_tools names 'widget_gett' (pegboard.yaml:14)")


@pytest.mark.behaviour("names.unknown_is_shown")
def test_unknown_names_are_reported_with_their_place_and_what_may_be_meant() -> None:
    made = disabling("widget_gett", "nothing_like_it")
    assert texts(made) == [
        "Unknown tool 'widget_gett' in selection.disabled_tools (/srv/pegboard.yaml:14). Did you mean 'widget_get'? "
        "Until the entry is corrected or marked as optional, mcp:dev~github:widget_get is locked.",
        "Unknown tool 'nothing_like_it' in selection.disabled_tools (/srv/pegboard.yaml:14). "
        "It denies nothing, and no tool is near enough to be locked.",
    ]


@pytest.mark.behaviour("names.unknown_is_shown")
@pytest.mark.parametrize(
    ("made", "setting", "text", "near"),
    [
        (
            OPEN.declaring(selection=Selection(enabled=("read_fil",))),
            "selection.enabled_tools",
            "read_fil",
            "read_file",
        ),
        (OPEN.declaring(selection=Selection(TheseToolsets(("dex",)))), "selection.toolsets", "dex", "dev"),
        (
            OPEN.with_server(server(DEV_FILES, limit=OnlyTools(("read_fil",), AT))),
            "servers.files.enabled_tools",
            "read_fil",
            "read_file",
        ),
        (
            OPEN.declaring(overrides=(override(MISSPELLED, description_override="Gets"),)),
            "overrides.dev",
            "mcp:dev~github:widget_gett",
            "widget_get",
        ),
        (
            OPEN.declaring(presenting=PresentationSettings(always_visible=(PinnedEntry("read_fil", AT),))),
            "always_visible",
            "read_fil",
            "read_file",
        ),
    ],
)
def test_names_that_open_nothing_are_reported_too(made: Board, setting: str, text: str, near: str) -> None:
    (entry,) = unknown_names(made.catalogue, made.policy)
    assert (entry.setting, entry.text, entry.suggestions[0], entry.locked_tools) == (setting, text, near, ())


@pytest.mark.parametrize(
    ("limit", "reported"),
    [
        (EveryTool(), []),
        (OnlyTools(("widget_get", "list_*")), []),
        (AllButTools(("github:widget_get", "mcp:dev~github:list_widgets")), []),
        (OnlyTools(("widget_gte",)), [("servers.github.enabled_tools", "widget_gte", False)]),
        (
            AllButTools(("Widget_Get", "nope_*")),
            [("servers.github.disabled_tools", "Widget_Get", False), ("servers.github.disabled_tools", "nope_*", True)],
        ),
    ],
)
def test_the_entries_of_a_servers_own_lists_are_checked(
    limit: ToolFilter, reported: list[tuple[str, str, bool]]
) -> None:
    made = OPEN.with_server(server(GITHUB, limit=limit))
    entries = unknown_names(made.catalogue, made.policy)
    assert [(entry.setting, entry.text, entry.is_pattern) for entry in entries] == reported


@pytest.mark.parametrize(
    "entry", ["widget_get", "widget_*", "dev:widget_get", "github:widget_*", "mcp:dev~github:widget_get"]
)
def test_an_entry_with_a_scope_denies_what_it_names(entry: str) -> None:
    made = OPEN.with_server(server(GITHUB, limit=AllButTools((entry,))))
    assert locked(made) == {GET}
    assert unknown_locks(made) == set()


def test_nothing_is_reported_while_a_server_that_may_have_the_tool_has_not_listed() -> None:
    made = disabling("something_else_entirely")
    for health in (ProviderStart(1, NOW), ProviderDown(NOW, "exited")):
        listings = {**made.catalogue.listings, DEV_FILES: Listing(DEV_FILES, health)}
        assert unknown_names(Catalogue(listings), made.policy) == ()


def test_a_server_that_is_off_does_not_hide_a_misspelling() -> None:
    off = disabling("something_else_entirely").deciding(switches={DEV_FILES: Switch(False, ME, NOW)})
    listings = {**off.catalogue.listings, DEV_FILES: Listing(DEV_FILES, ProviderOff())}
    (entry,) = unknown_names(Catalogue(listings), off.policy)
    assert str(entry).endswith("Not known, because they do not run: the tools of dev~files.")


def test_a_denial_that_was_installed_is_corrected_by_installing_it_again() -> None:
    installed = server(GITHUB, limit=AllButTools(("widget_gett",)), origin=PERSON)
    verdict = resolve(OPEN.catalogue, OPEN.with_server(installed).policy, View(ME)).verdicts[GET]
    assert isinstance(verdict, LockedTool)
    assert explain_reason(verdict.reason).startswith(
        "disabled_tools of dev~github names 'widget_gett' (installed by me)"
    )
    assert remedy(verdict.reason, Audience.AGENT).startswith(
        "It was installed so: ask the user to install its server again"
    )


def test_a_policy_without_unmatched_denials_is_not_made_anew() -> None:
    assert with_suspects(OPEN.catalogue, OPEN.policy) is OPEN.policy
    right = disabling("widget_get")
    assert with_suspects(right.catalogue, right.policy) is right.policy
    wrong = disabling("widget_gett")
    once = with_suspects(wrong.catalogue, wrong.policy)
    assert with_suspects(wrong.catalogue, wrong.policy) is once
    assert with_suspects(wrong.catalogue, once) is once


# --- overrides under the wrong toolset, and toolsets that are no toolset ---------------------------------------------

SHOP, DESK = key("shop~shop"), key("desk~desk")
PAY, NOTE = ToolId(SHOP, "pay"), ToolId(DESK, "note")
SHOP_AND_DESK = board([tool(SHOP, "pay"), tool(DESK, "note")])
RESTRICTIONS: dict[str, dict[str, object]] = {
    "off": {"enabled": False},
    "confirmed": {"requires_confirmation": True},
    "ticket": {"confirmation": ConfirmationMode.TICKET},
    "hidden": {"arguments": {"to": ArgumentOverride(hide=True)}},
}


def under_desk(target: ToolId | Pattern, on: Board = SHOP_AND_DESK, **said: object) -> Board:
    row = replace(override(target, **said), toolset=DESK.toolset)
    return on.declaring(overrides=(row,))


@pytest.mark.behaviour("names.denial_fails_closed")
@pytest.mark.parametrize("said", RESTRICTIONS)
@pytest.mark.parametrize("target", [Pattern("shop", "pay"), Pattern("*", "pay"), ToolId(key("desk~shop"), "pay")])
def test_a_restricting_override_under_the_wrong_toolset_locks_the_tool_it_names(
    target: ToolId | Pattern, said: str
) -> None:
    made = under_desk(target, SHOP_AND_DESK, **RESTRICTIONS[said])
    assert unknown_locks(made) == {PAY}
    (text,) = texts(made)
    assert "Did you mean 'mcp:shop~shop:pay'? Until the entry is corrected or marked as optional" in text
    verdict = resolve(made.catalogue, made.policy, View(ME)).verdicts[PAY]
    assert isinstance(verdict, LockedTool)
    assert explain_reason(verdict.reason) == (
        f"overrides.desk names '{str(target).removeprefix('*:')}' (pegboard.yaml:14), "
        "which no tool of toolset 'desk' has; it may mean mcp:shop~shop:pay."
    )


def test_an_override_that_fits_a_tool_of_its_toolset_or_may_still_do_so_locks_no_other() -> None:
    both = board([tool(SHOP, "pay"), tool(DESK, "pay")])
    seen = {id: Approval(one.spec, ME, NOW, first_sight=True) for id, one in both.tools.items()}
    for made in (both, both.deciding(approvals=seen)):
        assert unknown_locks(under_desk(Pattern("*", "pay"), made, requires_confirmation=True)) == set()
    for health in (ProviderStart(1, NOW), ProviderOff()):
        listings = {**SHOP_AND_DESK.catalogue.listings, DESK: Listing(DESK, health)}
        starting = replace(SHOP_AND_DESK, catalogue=Catalogue(listings))
        assert unknown_locks(under_desk(Pattern("*", "pay"), starting, enabled=False)) == set()
        assert unknown_locks(under_desk(Pattern("shop", "pay"), starting, enabled=False)) == {PAY}
    assert unknown_locks(under_desk(ToolId(DESK, "pay"), enabled=False)) == set()
    assert unknown_locks(under_desk(Pattern("*", "pay"), description_override="Pays")) == set()
    assert unknown_locks(under_desk(Pattern("*", "pay"), enabled=False, is_optional=True)) == set()


@pytest.mark.behaviour("names.decoys_end_no_lock")
def test_an_unapproved_tool_of_the_wrong_toolset_does_not_end_that_lock() -> None:
    made = under_desk(Pattern("*", "pay"), enabled=False)
    assert PAY in unknown_locks(decoyed(made, ToolId(DESK, "pay")))


@pytest.mark.behaviour("names.denial_fails_closed")
def test_switching_off_a_misspelled_toolset_locks_the_tools_of_the_nearest_one() -> None:
    off = replace(toolset(ToolsetId("shp")), enabled=False, origin=AT)
    made = SHOP_AND_DESK.declaring(toolsets={**SHOP_AND_DESK.policy.declared.toolsets, off.id: off})
    assert unknown_locks(made) == {PAY}
    assert texts(made) == [
        "Unknown toolset 'shp' in toolsets (/srv/pegboard.yaml:14). Did you mean 'shop'? "
        "Until the entry is corrected or removed, mcp:shop~shop:pay is locked."
    ]
    verdict = resolve(made.catalogue, made.policy, View(ME)).verdicts[PAY]
    assert isinstance(verdict, LockedTool)
    assert explain_reason(verdict.reason) == (
        "toolsets names 'shp' (pegboard.yaml:14), to which no server belongs; it may mean mcp:shop~shop:pay."
    )
    assert remedy(verdict.reason, Audience.AGENT) == "Ask the user to correct the entry in pegboard.yaml, or remove it."


def test_switching_off_a_toolset_that_is_near_no_other_or_has_a_server_locks_nothing() -> None:
    for id in ("wiki", "shop2"):
        off = replace(toolset(ToolsetId(id)), enabled=False, origin=AT)
        made = SHOP_AND_DESK.declaring(toolsets={**SHOP_AND_DESK.policy.declared.toolsets, off.id: off})
        if id == "shop2":
            made = made.with_server(server(key("shop2~any")))
        assert (unknown_locks(made), texts(made)) == (set(), [])


# --- the right name, written with something else ---------------------------------------------------------------------

OTHERWISE = (
    "store:widget_get",
    "store~github:widget_get",
    "mcp:store~github:widget_get",
    "mcp:store:widget_get",
    "github.widget_get",
    "github/widget_get",
    "github-widget_get",
    "github_widget_get",
    "GitHub.Widget-Get",
    "mcp__github__widget_get",
    "mcp__store__widget_get",
    "other widget_get",
    "store:widget_get,",
)
SEVERAL = (
    "widget_get,list_widgets",
    "widget_get list_widgets",
    "widget_get; list_widgets",
    "widget_gett, github.list_widgets",
    "github:widget_get, github:list_widgets",
)


def denied_everywhere(text: str) -> tuple[Board, ...]:
    written = parse_pattern(text)
    assert isinstance(written, Pattern)
    return (
        disabling(text),
        OPEN.declaring(denials=(Denial(written, AT),)),
        OPEN.with_server(server(GITHUB, limit=AllButTools((text,), AT))),
    )


@pytest.mark.behaviour("names.denial_fails_closed")
@pytest.mark.parametrize("text", OTHERWISE)
def test_the_right_name_behind_a_wrong_or_differently_written_scope_locks_the_tool(text: str) -> None:
    assert [unknown_locks(made) for made in denied_everywhere(text)] == [{GET}] * 3


@pytest.mark.behaviour("names.denial_fails_closed")
@pytest.mark.parametrize("text", SEVERAL)
def test_several_names_in_one_entry_lock_all_of_them(text: str) -> None:
    assert [unknown_locks(made) for made in denied_everywhere(text)] == [{GET, LIST}] * 3


def test_only_the_longest_name_at_the_end_of_an_entry_counts_unless_it_is_a_decoy() -> None:
    short, long = ToolId(GITHUB, "file"), ToolId(GITHUB, "delete_file")
    made = disabling("shop.delete_file", on=board([tool(GITHUB, "file"), tool(GITHUB, "delete_file")]))
    assert unknown_locks(made) == {long}
    alone = disabling("shop.delete_file", on=board([tool(GITHUB, "file")]))
    assert unknown_locks(alone) == {short}
    for source in (EVIL, GITHUB):
        assert short in unknown_locks(decoyed(alone, ToolId(source, "delete_file")))


def test_a_known_server_before_the_name_keeps_the_tools_of_other_servers_open() -> None:
    assert unknown_locks(disabling("files:github_widget_get")) == set()
    assert unknown_locks(disabling("github:old.widget_get")) == {GET}


@pytest.mark.parametrize("text", ["\uff57idget_get", "widget\u200b_get", "wid\u00adget_gte"])
def test_letters_of_another_width_and_characters_that_do_not_show_are_no_edits(text: str) -> None:
    assert unknown_locks(disabling(text)) == {GET}
    assert misspellings("de\u200bl\u200be\u200bte", ["delete"]) == ("delete",)


def test_names_that_are_alike_and_not_near_enough_are_told_as_such() -> None:
    assert texts(disabling("widgets_got_all")) == [
        "Unknown tool 'widgets_got_all' in selection.disabled_tools (/srv/pegboard.yaml:14). It denies nothing: "
        "'widget_get' is similar, but not near enough to be locked."
    ]


# --- decoys: what a server lists cannot end a lock -------------------------------------------------------------------

EVIL = key("evil~evil")


def decoyed(made: Board, *decoys: ToolId, trust: Trust = Trust.STRICT) -> Board:
    """The same board after servers have listed these tools as well, which no person approved."""
    listings = dict(made.catalogue.listings)
    for decoy in decoys:
        listing = listings.get(decoy.source, Listing(decoy.source, ProviderUp(NOW)))
        listings[decoy.source] = replace(listing, tools=(*listing.tools, tool(decoy.source, decoy.name)))
    servers = {**made.policy.declared.servers, EVIL: server(EVIL, trust=trust)}
    toolsets = {**made.policy.declared.toolsets, EVIL.toolset: toolset(EVIL.toolset)}
    return replace(made.declaring(servers=servers, toolsets=toolsets), catalogue=Catalogue(listings))


@pytest.mark.behaviour("names.decoys_end_no_lock")
@each_case("trust", Trust)
@each_case("source", [EVIL, GITHUB])
@each_case("kind", [kind for kind in DENIALS if kind not in ("an unknown server", "another case")])
def test_no_server_ends_the_lock_of_a_misspelled_denial_by_listing_its_name(
    kind: str, source: ServerKey, trust: Trust
) -> None:
    names = ("widget_gett", "dev__github__widget_gett")
    made = decoyed(DENIALS[kind], *(ToolId(source, name) for name in names), trust=trust)
    assert GET in locked(made)


@pytest.mark.behaviour("names.decoys_end_no_lock")
@pytest.mark.parametrize("trust", Trust)
@pytest.mark.parametrize("source", [EVIL, DEV_FILES])
def test_no_server_ends_a_lock_by_listing_a_name_that_is_nearer(source: ServerKey, trust: Trust) -> None:
    made = disabling("delet_fiel")
    assert unknown_locks(made) == {DELETE}
    assert DELETE in locked(decoyed(made, ToolId(source, "delet_fie"), trust=trust))


@pytest.mark.behaviour("names.decoys_end_no_lock")
def test_a_denial_that_only_unapproved_tools_match_says_so_and_how_to_go_on() -> None:
    decoy = ToolId(EVIL, "widget_gett")
    made = decoyed(disabling("widget_gett"), decoy)
    verdict = resolve(made.catalogue, made.policy, View(ME)).verdicts[GET]
    assert isinstance(verdict, LockedTool)
    assert explain_reason(verdict.reason) == (
        "selection.disabled_tools names 'widget_gett' (pegboard.yaml:14), which only mcp:evil~evil:widget_gett has, "
        "and nobody has reviewed that tool; it may mean mcp:dev~github:widget_get."
    )
    assert remedy(verdict.reason, Audience.AGENT) == (
        "Ask the user to correct the entry in pegboard.yaml, or, if it means mcp:evil~evil:widget_gett, approve "
        "that tool; the entry goes on applying to it: pegboard approvals show mcp:evil~evil:widget_gett"
    )
    assert texts(made) == [
        "'widget_gett' in selection.disabled_tools (/srv/pegboard.yaml:14) is only the name of "
        "mcp:evil~evil:widget_gett, which nobody has reviewed. Did you mean 'widget_get'? "
        "Until the entry is corrected or the tool reviewed, mcp:dev~github:widget_get is locked."
    ]


def approved(made: Board, id: ToolId, *, first_sight: bool = False, spec: ToolSpec | None = None) -> Board:
    given = Approval(spec or made.tools[id].spec, ME, NOW, first_sight)
    return made.deciding(approvals={**made.policy.decisions.approvals, id: given})


@pytest.mark.behaviour("names.decoys_end_no_lock")
@pytest.mark.parametrize("kind", [kind for kind in DENIALS if kind not in ("an unknown server", "another case")])
def test_no_server_ends_the_lock_of_another_ones_tool_by_first_sight(kind: str) -> None:
    names = ("widget_gett", "dev__github__widget_gett")
    made = decoyed(DENIALS[kind], *(ToolId(EVIL, name) for name in names), trust=Trust.BASELINE)
    for name in names:
        made = approved(made, ToolId(EVIL, name), first_sight=True)
    assert unknown_locks(made) == {GET}
    assert len(texts(made)) == 1


@pytest.mark.behaviour("names.decoys_end_no_lock")
@pytest.mark.parametrize("how", ["approved", "blocked"])
def test_a_tool_that_a_person_reviewed_is_what_the_denial_means(how: str) -> None:
    other = ToolId(EVIL, "widget_gett")
    made = decoyed(OPEN.declaring(denials=(Denial(Pattern("*", "widget_gett"), AT),)), other)
    assert unknown_locks(made) == {GET}
    if how == "blocked":
        made = made.deciding(switches={other: Switch(False, ME, NOW, blocks=True)})
    else:
        made = approved(made, other)
    assert (unknown_locks(made), texts(made)) == (set(), [])
    assert locked(made) == {other}


@pytest.mark.behaviour("names.decoys_end_no_lock")
def test_neither_an_earlier_definition_nor_a_switch_is_a_review_of_the_tool() -> None:
    other = ToolId(EVIL, "widget_gett")
    made = decoyed(OPEN.declaring(denials=(Denial(Pattern("*", "widget_gett"), AT),)), other)
    assert unknown_locks(approved(made, other, spec=ToolSpec("widget_gett", description="before"))) == {GET}
    assert unknown_locks(made.deciding(switches={other: Switch(True, ME, NOW)})) == {GET}


@pytest.mark.parametrize("trust", [Trust.OPEN, Trust.BASELINE])
def test_a_tool_that_its_servers_trust_accepts_is_what_a_denial_means_among_its_own_tools_alone(trust: Trust) -> None:
    """Otherwise a denial of `widget_get` would lock the `widget_gets` of the same server on most boards."""
    hung = board([tool(EVIL, "widget_get"), tool(EVIL, "widget_gets"), tool(GITHUB, "widget_gets")])
    seen = {id: Approval(one.spec, ME, NOW, first_sight=True) for id, one in hung.tools.items()}
    made = hung.deciding(approvals={} if trust is Trust.OPEN else seen, trust={EVIL: trust, GITHUB: trust})
    denied = made.declaring(denials=(Denial(Pattern("*", "widget_get"), AT),))
    assert unknown_locks(denied) == {ToolId(GITHUB, "widget_gets")}
    scoped = made.declaring(denials=(Denial(Pattern("evil", "widget_get"), AT),))
    assert (unknown_locks(scoped), texts(scoped)) == (set(), [])


# --- how near is near ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("get", "get", 0),
        ("get", "gte", 1),
        ("get", "gett", 1),
        ("get", "et", 1),
        ("get", "got", 1),
        ("abcd", "badc", 2),
    ],
)
def test_an_edit_is_a_letter_missing_added_replaced_or_swapped(one: str, other: str, edits: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == edits


def test_case_and_separators_are_no_edits_and_only_the_nearest_count() -> None:
    pool = ("delete_file", "delete_files", "delete_folder", "read_file")
    assert misspellings("deleteFile", pool) == ("delete_file", "delete_files")
    assert misspellings("delete_fiel", pool) == ("delete_file",)
    assert misspellings("delet_fiel", pool) == ("delete_file",)
    assert misspellings("write_file", pool) == ()
    assert misspellings("", pool) == ()


LETTERS = "abcdefghijklmnopqrstuvwxyz_"


@st.composite
def misspelled(draw: st.DrawFn, name: str) -> str:
    at = draw(st.integers(0, len(name) - 1))
    letter = draw(st.sampled_from(LETTERS))
    start, end = name[:at], name[at:]
    swapped = start + end[1::-1] + end[2:]
    return draw(st.sampled_from([start + end[1:], swapped, start + letter + end[1:], start + letter + end]))


NAMES = [id.name for id in tool_ids()]
WAYS = ("selection", "id", "deny", "server", "override")


def denying(hung: Board, id: ToolId, name: str, way: str) -> Board:
    """A board that denies the tool under this name, which may be wrong."""
    written = ToolId(id.source, name)
    match way:
        case "selection":
            return disabling(name, on=hung)
        case "id":
            return disabling(str(written), on=hung)
        case "deny":
            return hung.declaring(denials=(Denial(Pattern("*", name), FILE),))
        case "server":
            assert not isinstance(id.source, BuiltinKey)
            return hung.with_server(server(id.source, limit=AllButTools((name,))))
        case _:
            return hung.declaring(overrides=(Override(id.toolset, written, enabled=False, is_declared=True),))


@pytest.mark.behaviour("names.denial_fails_closed")
@given(st.data())
def test_a_misspelled_denial_never_leaves_its_tool_open_and_correcting_it_changes_that_tool_alone(
    data: st.DataObject,
) -> None:
    sources = (GITHUB, DEV_FILES, MATH)
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True))
    hung = board([tool(sources[place % 3], name) for place, name in enumerate(names)])
    id = data.draw(st.sampled_from(sorted(hung.tools)))
    text = data.draw(misspelled(id.name))
    assume(text.strip("_") and text not in names)
    way = data.draw(st.sampled_from(WAYS))
    wrong, right = denying(hung, id, text, way), denying(hung, id, id.name, way)
    before = resolve(wrong.catalogue, wrong.policy, View(ME)).verdicts
    after = resolve(right.catalogue, right.policy, View(ME)).verdicts
    assert not isinstance(before[id], OpenTool)
    assert not isinstance(after[id], OpenTool)
    assert all(isinstance(verdict, OpenTool) for other, verdict in after.items() if other != id)


def test_one_edit_in_a_name_of_docspace_locks_the_intended_tool_and_hardly_another() -> None:
    total = caught = locks = 0
    for name in NAMES:
        for at in range(len(name)):
            for text in (name[:at] + name[at + 1 :], name[:at] + "x" + name[at:], name[: at + 1] + name[at:]):
                near = misspellings(text, NAMES) if text not in NAMES else (name,)
                total, caught, locks = total + 1, caught + (name in near), locks + len(near)
    assert caught >= 0.95 * total
    assert locks <= 2 * total


def test_an_exact_denial_keeps_what_was_written() -> None:
    (denial,) = disabling("widget_gett").policy.exact_denials
    assert denial == ExactDenial("selection.disabled_tools", "widget_gett", AT, NameReference("widget_gett"))
    assert ProviderUp(NOW) == OPEN.catalogue.health(GITHUB)


@pytest.mark.behaviour("confirmation.hidden_characters")
def test_the_names_of_locked_tools_are_shown_with_escapes() -> None:
    entry = UnknownName("deny", "sendmail", None, locked_tools=(ToolId(GITHUB, "send_mail\xa0"),))
    assert "or marked as optional, 'mcp:dev~github:send_mail\\xa0' is locked." in str(entry)
