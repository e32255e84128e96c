"""The doctor: each kind of trouble is found, with what is wrong, where, and the one thing that mends it."""

from dataclasses import replace

import pytest
from tests.core.boards import FILE, ME, NOW, PERSON, key, server
from tests.support.doubles import UP, named
from tests.support.house import declaring

from pegboard.config.schema.document import ENVIRONMENT_NOTE, ConfigWarnings, FileProblem, UndeclaredToolset
from pegboard.core.decision.unknown_names import UnknownName
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ListingProblem,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
)
from pegboard.core.model.confirmation import PrincipalConfirmation
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.patterns import Allowance, LaunchFilter, Pattern
from pegboard.core.model.principals import Principal
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import Http, Trust
from pegboard.core.model.settings import PinnedEntry, PresentationMode, PresentationSettings, PromptSettings
from pegboard.core.policy.policy import Approval, DeclaredSettings, Policy, PolicyDecisions
from pegboard.gateway.board import BoardState, Notice
from pegboard.gateway.doctor import PRESENTATION_FIX, BoardIssue, costs_of, diagnose

GITHUB = key("dev~github")


def board(
    health: Health = UP, *, declared: DeclaredSettings | None = None, flaws: tuple[ListingProblem, ...] = ()
) -> BoardState:
    hung = BoardState(Policy(declared or declaring(server(GITHUB, trust=Trust.OPEN))))
    hung.publish(Listing(GITHUB, health, named(GITHUB, "search"), flaws))
    return hung


@pytest.mark.parametrize("health", [UP, ProviderOff(), ProviderStart(1, NOW)])
def test_a_board_without_trouble_has_no_findings(health: Health) -> None:
    assert diagnose(board(health)) == ()
    assert diagnose(BoardState()) == ()


@pytest.mark.behaviour("confirmation.interactive")
def test_interactive_principals_are_told_once_callers_have_tokens() -> None:
    alice, bob = PrincipalId("alice"), PrincipalId("bob")
    here = declaring(server(GITHUB, trust=Trust.OPEN))
    marked = {
        alice: Principal(alice, FILE, confirmation=PrincipalConfirmation(True, interactive_at=FILE)),
        bob: Principal(bob, FILE),
    }
    at_run_time = {LOCAL_PRINCIPAL: PrincipalConfirmation(True)}
    hung = board(declared=replace(here, principals=marked))
    hung.set_policy(replace(hung.policy, decisions=PolicyDecisions(confirmations=at_run_time)))
    assert diagnose(hung) == (
        BoardIssue(
            "principals",
            "alice is interactive: answers in its clients confirm calls.",
            f"If no person sits at them: take interactive out at {FILE}",
            severity="warning",
        ),
        BoardIssue(
            "principals",
            "local is interactive: answers in its clients confirm calls.",
            "If no person sits at them: pegboard grants confirmation local --not-interactive",
            severity="warning",
        ),
    )
    hung.set_policy(Policy(here, PolicyDecisions(confirmations=at_run_time)))
    assert diagnose(hung) == (), "on a laptop it goes without saying"


MEND = (
    "pegboard servers logs dev~github   "
    "Correct it at pegboard.yaml:7, or try again: pegboard servers restart dev~github"
)


@pytest.mark.behaviour("providers.down_server_keeps_last_listing")
@pytest.mark.parametrize(
    ("health", "finding"),
    [
        (ProviderDown(NOW, "exit code 1."), BoardIssue("dev~github", "Server dev~github is down: exit code 1.", MEND)),
        (
            ProviderDown(NOW, "exit code 1", last_lines=("starting", "no module named 'x'")),
            BoardIssue(
                "dev~github",
                "Server dev~github is down: exit code 1. It last wrote: \"no module named 'x'\"",
                MEND,
            ),
        ),
        (
            ProviderNeedsSignIn(NOW),
            BoardIssue(
                "dev~github",
                "Server dev~github needs sign-in.",
                "pegboard servers sign-in dev~github",
            ),
        ),
        (
            ProviderNeedsSignIn(NOW, "the last sign-in has run out"),
            BoardIssue(
                "dev~github",
                "Server dev~github needs sign-in: the last sign-in has run out.",
                "pegboard servers sign-in dev~github",
            ),
        ),
        (
            ProviderStart(3, NOW),
            BoardIssue(
                "dev~github", "Server dev~github is not up: it failed before, and this is attempt 3 to start it.", MEND
            ),
        ),
    ],
)
def test_a_server_in_trouble_is_found_with_what_mends_it(health: Health, finding: BoardIssue) -> None:
    assert diagnose(board(health)) == (finding,)


def test_an_installed_server_is_mended_by_installing_it_again() -> None:
    down = BoardState(
        Policy(decisions=PolicyDecisions(servers={GITHUB: server(GITHUB, origin=PERSON, trust=Trust.OPEN)}))
    )
    down.publish(Listing(GITHUB, ProviderDown(NOW, "exit code 1")))
    (finding,) = diagnose(down)
    assert "pegboard servers remove dev~github, then add it again" in finding.fix


@pytest.mark.behaviour("cli.doctor_mends_are_possible")
def test_without_a_running_gateway_nobody_is_sent_to_restart_a_server() -> None:
    (finding,) = diagnose(board(ProviderDown(NOW, "exit code 1")), running=False)
    assert finding.fix == (
        "pegboard servers logs dev~github   Correct it at pegboard.yaml:7, then look again: pegboard doctor"
    )


@pytest.mark.behaviour("cli.doctor_mends_are_possible")
def test_nobody_is_sent_to_the_log_of_a_server_that_has_none() -> None:
    far = replace(server(GITHUB, trust=Trust.OPEN), connection=Http("http://h"))
    (finding,) = diagnose(board(ProviderDown(NOW, "cannot be reached"), declared=declaring(far)))
    assert finding.fix == "Correct it at pegboard.yaml:7, or try again: pegboard servers restart dev~github"


@pytest.mark.behaviour("cli.doctor_mends_are_possible")
def test_a_server_in_quarantine_is_told() -> None:
    waiting = replace(server(GITHUB, origin=PERSON, trust=Trust.OPEN), quarantined=True)
    hung = BoardState(Policy(decisions=PolicyDecisions(servers={GITHUB: waiting})))
    assert diagnose(hung) == (
        BoardIssue(
            "dev~github",
            "Server dev~github is in quarantine until a person has reviewed it.",
            "Look at it: pegboard servers review dev~github   Then: pegboard servers release dev~github   "
            "If you do not want it: pegboard servers remove dev~github",
        ),
    )


def test_a_tool_that_cannot_hang_is_told_and_is_not_grave() -> None:
    (finding,) = diagnose(board(flaws=(ListingProblem("bad\nname", "its schema is a list."),)))
    assert finding == BoardIssue(
        "dev~github",
        "Server dev~github lists 'bad\\nname', which cannot hang on the board: its schema is a list.",
        "Tell the server's author; its other tools work.",
        severity="warning",
    )


@pytest.mark.behaviour("names.unknown_is_shown")
def test_unknown_names_in_the_selection_are_found() -> None:
    declared = replace(
        declaring(server(GITHUB, trust=Trust.OPEN)),
        selection=Selection(TheseToolsets(("dev", "dve")), disabled=("serch",)),
    )
    findings = diagnose(board(declared=declared))
    assert [(finding.message, finding.severity) for finding in findings] == [
        (
            "Unknown tool 'serch' in selection.disabled_tools. Did you mean 'search'? Until the entry is corrected or "
            "marked as optional, mcp:dev~github:search is locked.",
            "error",
        ),
        ("Unknown toolset 'dve' in selection.toolsets. Did you mean 'dev'?", "error"),
    ]


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("search",), "1 tool waits for approval, first mcp:dev~github:search."),
        (("search", "write"), "2 tools wait for approval, first mcp:dev~github:search."),
    ],
)
def test_tools_that_wait_for_approval_are_counted_and_the_first_is_named(names: tuple[str, ...], what: str) -> None:
    waiting = BoardState(Policy(declaring(server(GITHUB, trust=Trust.STRICT))))
    waiting.publish(Listing(GITHUB, UP, named(GITHUB, *names)))
    (finding,) = diagnose(waiting)
    assert (finding.subject, finding.message, finding.severity) == ("approvals", what, "warning")
    assert finding.fix == "pegboard approvals list"


@pytest.mark.behaviour("confirmation.hidden_characters")
@pytest.mark.parametrize(
    ("name", "shown"), [("send_mail\xa0", "send_mail\\xa0"), ("send\u202email", "send\\u202email")]
)
def test_names_of_waiting_tools_are_shown_with_escapes(name: str, shown: str) -> None:
    waiting = BoardState(Policy(declaring(server(GITHUB, trust=Trust.STRICT))))
    waiting.publish(Listing(GITHUB, UP, named(GITHUB, name)))
    (finding,) = diagnose(waiting)
    assert finding.message == f"1 tool waits for approval, first 'mcp:dev~github:{shown}'."


def test_a_tool_that_changed_since_its_approval_waits_too() -> None:
    (tool,) = named(GITHUB, "search")
    approved = Approval(replace(tool.spec, description="as it was"), ME, NOW)
    changed = BoardState(
        Policy(declaring(server(GITHUB, trust=Trust.STRICT)), PolicyDecisions(1, approvals={tool.id: approved}))
    )
    changed.publish(Listing(GITHUB, UP, (tool,)))
    assert [finding.subject for finding in diagnose(changed)] == ["approvals"]


@pytest.mark.behaviour("toolsets.declared_and_installed_clash")
def test_every_notice_is_a_finding_and_comes_first() -> None:
    hung = board(ProviderDown(NOW, "exit code 1"))
    hung.add_notice(Notice("configuration", f"{FILE}: unknown key 'serverz'. Did you mean 'servers'?", NOW))
    hung.add_notice(Notice("store", "The store does not answer: connection refused.", NOW))
    findings = diagnose(hung)
    assert [finding.subject for finding in findings] == ["configuration", "store", "dev~github"]
    assert findings[0] == BoardIssue(
        "configuration",
        "pegboard.yaml:7: unknown key 'serverz'. Did you mean 'servers'?",
        "Mend what it names; it is read again by itself.",
    )


FILE_NAME = "pegboard.yaml"
UNSET = FileProblem(
    FILE_NAME,
    3,
    "principals.alice.token",
    "'alice' cannot come in: ${T} stands for nothing.",
    depends_on_environment=True,
)


@pytest.mark.behaviour("cli.doctor_asks_the_gateway")
def test_what_the_file_says_in_vain_is_told_as_the_gateway_sees_it() -> None:
    hung = board()
    hung.config_warnings = ConfigWarnings((UNSET,))
    finding = BoardIssue(FILE_NAME, str(UNSET), f"Edit {FILE_NAME}:3", severity="warning")
    assert diagnose(hung) == (finding,)
    hung.config_warnings = ConfigWarnings((UNSET,), read_by_command=True)
    assert diagnose(hung) == (replace(finding, message=f"{UNSET} {ENVIRONMENT_NOTE}"),)


def test_a_remark_that_is_why_a_server_is_down_is_told_with_the_server_alone() -> None:
    hung = board(ProviderDown(NOW, "${T} stands for nothing."))
    hung.config_warnings = ConfigWarnings(
        (FileProblem(FILE_NAME, 2, "servers.github.env.T", "${T} stands for nothing.", depends_on_environment=True),)
    )
    assert [finding.subject for finding in diagnose(hung)] == ["dev~github"]


@pytest.mark.behaviour("config.granted_toolsets_exist")
def test_a_toolset_that_the_file_selects_in_vain_is_found_once() -> None:
    declared = replace(declaring(server(GITHUB, trust=Trust.OPEN)), selection=Selection(TheseToolsets(("dev", "wiki"))))
    hung = board(declared=declared)
    told = FileProblem(FILE_NAME, 4, "selection.toolsets[1]", "there is no toolset 'wiki'.")
    hung.config_warnings = ConfigWarnings(undeclared_toolsets=(UndeclaredToolset("wiki", told),))
    assert diagnose(hung) == (BoardIssue(FILE_NAME, str(told), f"Edit {FILE_NAME}:4", severity="warning"),)


def test_a_granted_toolset_is_doubted_until_it_is_on_the_board() -> None:
    hung = board()
    doubts = tuple(
        UndeclaredToolset(name, FileProblem(FILE_NAME, 4, "grants.local", f"no {name}")) for name in ("dev", "wiki")
    )
    hung.config_warnings = ConfigWarnings(undeclared_toolsets=doubts)
    assert [finding.message for finding in diagnose(hung)] == ["pegboard.yaml:4: grants.local: no wiki"]


@pytest.mark.behaviour("present.costs")
def test_more_tools_than_the_threshold_are_told_with_what_each_presentation_costs() -> None:
    declared = declaring(server(GITHUB, trust=Trust.OPEN))
    hung = board(declared=replace(declared, presentation=PresentationSettings(threshold=2)))
    assert diagnose(hung) == ()
    hung.publish(Listing(GITHUB, UP, named(GITHUB, "search", "open", "close")))
    [finding] = diagnose(hung)
    direct, meta, search, deferred, code = costs_of(hung, View())
    assert (direct.tools, [len(str(cost.tokens)) for cost in (meta, search, deferred, code)]) == (3, [3, 3, 3, 3])
    assert finding == BoardIssue(
        "presentation",
        f"3 tools are shown each as itself at /mcp, which costs a model about {direct.tokens} tokens before it does "
        f"anything; meta {round(meta.tokens, -1)}, search {round(search.tokens, -1)}, deferred "
        f"{round(deferred.tokens, -1)} and code {round(code.tokens, -1)}.",
        PRESENTATION_FIX,
        severity="warning",
    )
    chosen = PresentationSettings(PresentationMode.SEARCH, threshold=2)
    hung.set_policy(replace(hung.policy, declared=replace(hung.policy.declared, presentation=chosen)))
    assert diagnose(hung) == ()


@pytest.mark.behaviour("present.always_visible")
def test_what_is_to_stay_listed_and_is_no_tool_is_told_with_its_line() -> None:
    kept = PresentationSettings(always_visible=(PinnedEntry("serch", FILE), PinnedEntry("dev:*", FILE)))
    hung = board(declared=replace(declaring(server(GITHUB, trust=Trust.OPEN)), presentation=kept))
    assert diagnose(hung) == (
        BoardIssue(
            "always_visible",
            "Unknown tool 'serch' in always_visible (pegboard.yaml:7). Did you mean 'search' or 'tool_search'?",
            "Correct it at pegboard.yaml:7, or mark it as optional.",
        ),
    )


@pytest.mark.behaviour("filter.vain_names_are_told")
def test_what_the_filter_of_prompts_names_in_vain_is_told() -> None:
    launch = LaunchFilter(servers=Allowance(deny=(Pattern("githb", "*"),)))
    hung = board(declared=replace(declaring(server(GITHUB, trust=Trust.OPEN)), prompts=PromptSettings(launch=launch)))
    assert diagnose(hung) == (
        BoardIssue(
            "prompts.filter.deny_servers",
            str(UnknownName("prompts.filter.deny_servers", "githb", None, "name", ("github", "dev~github"))),
            "Correct it in pegboard.yaml.",
        ),
    )
