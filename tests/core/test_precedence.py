"""Why a tool is locked: each status from the state that causes it, and which is told first when several hold."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations

import pytest
from tests.core.boards import (
    DAMAGES,
    DEV_FILES,
    FILE,
    GITHUB,
    MATH,
    ME,
    NOW,
    OFF,
    PERSON,
    Board,
    Damage,
    board,
    server,
    tool,
)
from tests.core.laws import call, fits

from pegboard.core.calls.call import LockedToolRefusal, admit, refusal_text
from pegboard.core.decision.resolve import LockedTool, OpenTool, Resolution, judge_tool, resolve
from pegboard.core.decision.rules import Rule
from pegboard.core.decision.status import (
    ChangedSinceApproval,
    DeniedByOverride,
    DeniedByPattern,
    DeniedByToolFilter,
    LockReason,
    LockStatus,
    NoApproval,
    OwnerOff,
    ProviderUnavailable,
    ServerInQuarantine,
    SwitchedOff,
    UndeterminedState,
    UnusableOverride,
    explain_reason,
    remedy,
    status_of,
    status_remedy,
)
from pegboard.core.model.catalogue import (
    Health,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ToolId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt, OnlyTools, Trust
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Denial, Policy, PolicyDecisions, Switch

READ = ToolId(GITHUB, "read")
OPEN_BOARD = board([tool(GITHUB, "read"), tool(GITHUB, "write"), tool(DEV_FILES, "read"), tool(MATH, "add")])
SPEC = ToolSpec("read", description="says this")
PRECEDENCE = [
    "server_disabled",
    "server_quarantined",
    "disabled_by_config",
    "disabled_by_user",
    "pending_approval",
    "server_unavailable",
    "disabled_unknown",
]


def resolution(board: Board) -> Resolution:
    return resolve(board.catalogue, board.policy, View(ME))


def locked(board: Board, id: ToolId = READ) -> LockedTool:
    verdict = resolution(board).verdicts[id]
    assert isinstance(verdict, LockedTool)
    return verdict


def test_the_statuses_stand_in_the_order_of_the_seed() -> None:
    assert [each.value for each in LockStatus] == PRECEDENCE


@pytest.mark.behaviour(
    "locked.status.server_disabled",
    "locked.status.server_quarantined",
    "locked.status.disabled_by_config",
    "locked.status.disabled_by_user",
    "locked.status.pending_approval",
    "locked.status.server_unavailable",
    "locked.status.disabled_unknown",
    "config.disabled_tools_lock",
)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_one_thing_wrong_locks_the_tool_for_exactly_that_reason(damage: Damage) -> None:
    # A server that no policy names has no switches, limits or approvals of its own that could be told as well.
    verdict = locked(damage.do(OPEN_BOARD, READ))
    assert (verdict.status.value, verdict.other_reasons) == (damage.status, ())


@pytest.mark.behaviour("toolsets.own_tools_are_judged_alike")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_tool_that_a_toolset_brings_itself_is_locked_by_the_same_rules(damage: Damage) -> None:
    add = ToolId(MATH, "add")
    verdict = locked(damage.do(OPEN_BOARD, add), add)
    assert (verdict.status.value, verdict.other_reasons) == (damage.status, ())


REASONS: Sequence[LockReason] = (
    OwnerOff(GITHUB, OFF),
    ServerInQuarantine(GITHUB),
    DeniedByPattern(READ, Pattern("*", "read"), FILE),
    SwitchedOff(READ, OFF),
    NoApproval(READ),
    ProviderUnavailable(GITHUB, ProviderOff()),
    UndeterminedState(READ, "the store is away"),
)


def subsets(reasons: Sequence[LockReason]) -> list[tuple[LockReason, ...]]:
    return [*chain.from_iterable(combinations(reasons, size) for size in range(1, len(reasons) + 1))]


def saying(reason: LockReason) -> Rule:
    def rule(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
        return reason

    return rule


@pytest.mark.behaviour(
    "locked.precedence.server_disabled_first",
    "locked.precedence.quarantine_before_config",
    "locked.precedence.config_before_user",
    "locked.precedence.user_before_approval",
    "locked.precedence.approval_before_unavailable",
    "locked.precedence.unknown_last",
)
def test_of_any_set_of_reasons_the_first_is_told_and_the_others_follow_in_order() -> None:
    spoken = Tool(READ, SPEC)
    for told in subsets(REASONS):
        for rules in (told, told[::-1], (*told[1:], told[0])):
            verdict = judge_tool(spoken, ProviderUp(NOW), Policy(), tuple(saying(reason) for reason in rules))
            assert verdict == LockedTool(spoken, told[0], told[1:])


def test_without_a_reason_the_tool_is_open() -> None:
    assert judge_tool(Tool(READ, SPEC), ProviderUp(NOW), Policy(), ()) == OpenTool(Tool(READ, SPEC))


# One real state a status; the last is told by a provider of which nothing is known.
STATES = {
    "server_disabled": "toolset switched off",
    "server_quarantined": "server quarantined",
    "disabled_by_config": "among the disabled_tools",
    "disabled_by_user": "switched off",
    "pending_approval": "never approved",
    "server_unavailable": "down",
}
DAMAGE = {damage.name: damage for damage in DAMAGES}


@pytest.mark.behaviour("law.one_verdict_per_tool")
def test_of_any_set_of_states_the_first_is_told_and_the_others_follow_in_order() -> None:
    every = [*STATES.items()]
    for size in range(1, len(every) + 1):
        for states in combinations(every, size):
            damaged = OPEN_BOARD
            for _, name in states:
                damaged = DAMAGE[name].do(damaged, READ)
            verdict = locked(damaged)
            assert [status_of(r).value for r in (verdict.reason, *verdict.other_reasons)] == [
                told for told, _ in states
            ]


@pytest.mark.behaviour("locked.unknown_fails_closed")
@pytest.mark.parametrize("name", [name for told, name in STATES.items() if told != "server_unavailable"])
def test_what_is_known_is_told_before_that_nothing_is_known_of_the_provider(name: str) -> None:
    damaged = DAMAGE[name].do(OPEN_BOARD, READ)
    verdict = judge_tool(damaged.tools[READ], None, damaged.policy)
    assert isinstance(verdict, LockedTool)
    assert (verdict.status.value, [status_of(r).value for r in verdict.other_reasons]) == (
        DAMAGE[name].status,
        ["disabled_unknown"],
    )


def test_a_server_down_that_no_policy_names_is_unavailable_first_and_unknown_second() -> None:
    damaged = DAMAGE["nobody's"].do(DAMAGE["down"].do(OPEN_BOARD, READ), READ)
    verdict = locked(damaged)
    assert [status_of(r).value for r in (verdict.reason, *verdict.other_reasons)] == [
        "server_unavailable",
        "disabled_unknown",
    ]


def test_a_toolset_that_no_policy_names_locks_its_own_tools_too() -> None:
    orphan = OPEN_BOARD.declaring(toolsets={})
    assert locked(orphan, ToolId(MATH, "add")).reason == UndeterminedState(
        ToolId(MATH, "add"), "no toolset 'math' is declared or installed"
    )


@pytest.mark.behaviour("locked.derived_and_never_written")
def test_asking_changes_nothing_and_answers_the_same_again() -> None:
    damaged = DAMAGE["down"].do(OPEN_BOARD, READ)
    before = (repr(damaged.policy), repr(damaged.catalogue))
    assert resolution(damaged) == resolution(damaged)
    assert (repr(damaged.policy), repr(damaged.catalogue)) == before


@pytest.mark.behaviour("locked.config_is_not_user_overridable", "overrides.declared_off_is_operator_policy")
@pytest.mark.parametrize("name", [d.name for d in DAMAGES if d.status == "disabled_by_config"])
def test_nothing_a_person_switches_or_overrides_opens_what_the_operator_denied(name: str) -> None:
    opened = (
        DAMAGE[name]
        .do(OPEN_BOARD, READ)
        .deciding(
            switches={READ: Switch(True, ME, NOW), GITHUB: Switch(True, ME, NOW)},
            overrides=(Override(GITHUB.toolset, READ, enabled=True),),
            trust={GITHUB: Trust.OPEN},
        )
    )
    assert locked(opened).status is LockStatus.DISABLED_BY_CONFIG


@pytest.mark.behaviour("toolsets.switch_covers_all_tools", "toolsets.switch_remembers_states")
def test_switching_a_toolset_off_and_on_leaves_each_server_and_tool_as_it_was() -> None:
    before = OPEN_BOARD.deciding(switches={READ: OFF, DEV_FILES: OFF})
    off = before.deciding(switches={**before.policy.decisions.switches, GITHUB.toolset: OFF})
    on = off.deciding(switches={**off.policy.decisions.switches, GITHUB.toolset: Switch(True, ME, NOW)})
    dev = [id for id in OPEN_BOARD.tools if id.toolset == GITHUB.toolset]
    assert {locked(off, id).status for id in dev} == {LockStatus.SERVER_DISABLED}
    assert resolution(on).verdicts == resolution(before).verdicts


def test_a_switch_thrown_on_opens_what_was_declared_off() -> None:
    declared_off = DAMAGE["server declared off"].do(OPEN_BOARD, READ)
    on = declared_off.deciding(switches={GITHUB: Switch(True, ME, NOW)})
    assert resolution(on).verdicts[READ] == OpenTool(OPEN_BOARD.tools[READ])


@pytest.mark.behaviour("toolsets.user_mcp_only_routes_the_ui")
def test_the_mark_of_a_standalone_server_changes_no_verdict_and_no_name() -> None:
    toolsets = OPEN_BOARD.policy.declared.toolsets
    flipped = OPEN_BOARD.declaring(toolsets={id: replace(t, user_mcp=not t.user_mcp) for id, t in toolsets.items()})
    assert (resolution(flipped).verdicts, resolution(flipped).names) == (
        resolution(OPEN_BOARD).verdicts,
        resolution(OPEN_BOARD).names,
    )


@pytest.mark.behaviour("toolsets.decisions_cover_both_sources")
def test_switches_and_approvals_work_alike_for_declared_and_installed_servers() -> None:
    installed = Policy(
        decisions=PolicyDecisions(
            servers={GITHUB: server(GITHUB, origin=PERSON, trust=Trust.STRICT)},
            toolsets={GITHUB.toolset: Toolset(GITHUB.toolset, PERSON)},
        )
    )
    for policy in (installed, OPEN_BOARD.deciding(approvals={}).policy):
        spoken = OPEN_BOARD.tools[READ]
        assert judge_tool(spoken, ProviderUp(NOW), policy) == LockedTool(spoken, NoApproval(READ))
        off = replace(policy, decisions=replace(policy.decisions, switches={GITHUB: OFF}))
        assert judge_tool(spoken, ProviderUp(NOW), off) == LockedTool(
            spoken, OwnerOff(GITHUB, OFF), (NoApproval(READ),)
        )


@pytest.mark.behaviour("config.enabled_tools_lock_the_rest")
@pytest.mark.parametrize(
    ("names", "opens"),
    [(("read",), True), (("re*",), True), (("[!r]*", "w"), False), (("reader",), False), ((), False)],
)
def test_enabled_tools_are_names_or_patterns_of_that_server(names: tuple[str, ...], opens: bool) -> None:
    limited = OPEN_BOARD.with_server(replace(OPEN_BOARD.policy.servers[GITHUB], limit=OnlyTools(names)))
    assert isinstance(resolution(limited).verdicts[READ], OpenTool) is opens
    assert isinstance(resolution(limited).verdicts[ToolId(DEV_FILES, "read")], OpenTool)


@pytest.mark.behaviour("config.deny_patterns")
def test_the_first_deny_pattern_that_fits_is_the_one_that_is_named() -> None:
    second = DeclaredAt("pegboard.yaml", 9)
    denied = OPEN_BOARD.declaring(
        denials=(
            Denial(Pattern("math", "*"), FILE),
            Denial(Pattern("github", "r*"), second),
            Denial(Pattern("*", "read"), FILE),
        )
    )
    assert locked(denied).reason == DeniedByPattern(READ, Pattern("github", "r*"), second)


# --- what is said ----------------------------------------------------------------------------------------------------

SENTENCES: Sequence[tuple[LockReason, str]] = (
    (OwnerOff(GITHUB, OFF), "Server dev~github is off: switched off by me on 2026-01-02 (out of order)."),
    (OwnerOff(GITHUB.toolset, FILE), "Toolset dev is off: enabled is false at pegboard.yaml:7."),
    (OwnerOff(GITHUB, PERSON), "Server dev~github is off: installed switched off by me."),
    (ServerInQuarantine(GITHUB), "Server dev~github is in quarantine until a person has reviewed it."),
    (
        DeniedByToolFilter(READ, "not among the enabled_tools", FILE),
        "mcp:dev~github:read is denied by the operator: not among the enabled_tools of its server (pegboard.yaml:7).",
    ),
    (
        DeniedByPattern(READ, Pattern("*", "re*"), FILE),
        "mcp:dev~github:read is denied by the operator: deny pattern '*:re*' (pegboard.yaml:7).",
    ),
    (
        DeniedByOverride(READ),
        "mcp:dev~github:read is denied by the operator: a declared override sets enabled to false.",
    ),
    (
        DeniedByOverride(READ, FILE),
        "mcp:dev~github:read is denied by the operator: a declared override sets enabled to false (pegboard.yaml:7).",
    ),
    (
        UnusableOverride(READ, is_operators=True),
        "mcp:dev~github:read is closed: an override of its arguments cannot be applied to it.",
    ),
    (SwitchedOff(READ, replace(OFF, note="")), "mcp:dev~github:read was switched off by me on 2026-01-02."),
    (SwitchedOff(READ, None), "mcp:dev~github:read is hidden by a person's override."),
    (NoApproval(READ), "mcp:dev~github:read is waiting for a person's approval."),
    (ChangedSinceApproval(READ, SPEC, SPEC), "mcp:dev~github:read changed since it was approved."),
    (ProviderUnavailable(GITHUB, ProviderStart(2, NOW)), "dev~github is starting (attempt 2)."),
    (ProviderUnavailable(GITHUB, ProviderDown(NOW, "exited with code 1.")), "dev~github is down: exited with code 1."),
    (ProviderUnavailable(GITHUB, ProviderNeedsSignIn(NOW)), "dev~github needs a person to sign in."),
    (ProviderUnavailable(ToolsetKey(GITHUB.toolset), ProviderOff()), "Toolset dev is not running."),
    (
        UndeterminedState(READ, "the store is away"),
        "The state of mcp:dev~github:read could not be determined: the store is away.",
    ),
)


@pytest.mark.parametrize(("reason", "said"), SENTENCES, ids=[type(reason).__name__ for reason, _ in SENTENCES])
def test_each_reason_says_what_is_wrong_and_who_or_what_made_it_so(reason: LockReason, said: str) -> None:
    assert explain_reason(reason) == said


@pytest.mark.behaviour(
    "locked.remedy.server_disabled",
    "locked.remedy.server_quarantined",
    "locked.remedy.disabled_by_config",
    "locked.remedy.disabled_by_user",
    "locked.remedy.pending_approval",
    "locked.remedy.server_unavailable",
    "locked.remedy.disabled_unknown",
)
def test_each_status_has_one_remedy_for_the_one_who_can_mend_it() -> None:
    words = {
        LockStatus.SERVER_DISABLED: "enable the server first",
        LockStatus.SERVER_QUARANTINED: "review the server",
        LockStatus.DISABLED_BY_CONFIG: "operator policy",
        LockStatus.DISABLED_BY_USER: "switch the tool on again",
        LockStatus.PENDING_APPROVAL: "approve",
        LockStatus.SERVER_UNAVAILABLE: "sign-in",
        LockStatus.DISABLED_UNKNOWN: "log",
    }
    assert {each for each in LockStatus if words[each] not in status_remedy(each, Audience.AGENT)} == set()
    # What only the operator can change is not offered to a user as a switch.
    assert "user" not in status_remedy(LockStatus.DISABLED_BY_CONFIG, Audience.AGENT)


@pytest.mark.behaviour("locked.remedy_for_its_reader")
@pytest.mark.parametrize("reason", [reason for reason, _ in SENTENCES], ids=lambda reason: type(reason).__name__)
def test_an_operator_reads_what_to_do_where_an_agent_reads_whom_to_ask(reason: LockReason) -> None:
    told, asked = remedy(reason, Audience.OPERATOR), remedy(reason, Audience.AGENT)
    assert "user" not in told
    said = asked.replace("Ask the user to ", "").replace("ask the user to ", "")
    assert said.casefold() == told.casefold()
    assert told[:1].isupper()


@pytest.mark.behaviour("mcp.in.sign_in")
def test_the_remedy_of_a_missing_sign_in_is_the_command() -> None:
    reason = ProviderUnavailable(GITHUB, ProviderNeedsSignIn(NOW))
    assert remedy(reason, Audience.AGENT) == "Ask the user to sign in: pegboard servers sign-in dev~github"


@pytest.mark.behaviour("locked.call_is_refused_with_the_same_words")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_call_to_a_locked_tool_is_refused_with_its_status_sentence_and_remedy(damage: Damage) -> None:
    answer = resolution(damage.do(OPEN_BOARD, READ))
    refusal = admit(call(answer.names[READ]), answer, fits)
    assert isinstance(refusal, LockedToolRefusal)
    assert (
        refusal_text(refusal)
        == f"{damage.status}: {explain_reason(refusal.reason)} {remedy(refusal.reason, Audience.AGENT)}"
    )
