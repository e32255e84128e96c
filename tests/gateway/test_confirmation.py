"""A tool that must be confirmed runs only after a person's yes: by their own client, by a ticket, or by a grant."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.boards import ME, key
from tests.gateway.asking import (
    ARGUMENTS,
    ASKS,
    DELETE,
    GITHUB,
    SPEC,
    TOOLS,
    YES,
    asking,
    bringing,
    deletes,
    ran,
    ticket_of,
    waits,
)
from tests.support.asking import AskedClient
from tests.support.doubles import OK, Providers
from tests.support.house import call_of, declared, opened

from pegboard.core.calls.call import (
    AdmittedCall,
    BadArguments,
    CallConfirmation,
    ConfirmationRefusal,
    LockedToolRefusal,
    MissingConfirmation,
    NeedsInput,
)
from pegboard.core.calls.tickets import NOT_READABLE_IN_CLIENT, ConsentScope
from pegboard.core.commands.commands import SetOverride, SetSwitch
from pegboard.core.json.values import Json
from pegboard.core.model.ids import CallId, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import Policy
from pegboard.gateway.caller import CallOutcome
from pegboard.ports.providers import ClientPeer

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("confirmation.asked_before_execution")
async def test_a_client_that_can_be_asked_is_asked_and_a_yes_runs_the_call(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        client = AskedClient(YES)
        assert await deletes(house, client) == OK
        ((method, params),) = client.asked
        assert method == "elicitation/create"
        assert params["message"] == (
            "May the tool 'delete' of 'dev~github' run now? The call comes from 'cli 1'.\n\n"
            'Its arguments, to the letter: {"repo": "pegboard", "token": "very-secret"}'
        )
        assert params["requestedSchema"] == {
            "type": "object",
            "properties": {
                "answer": {
                    "type": "string",
                    "title": "Run it?",
                    "description": "yes runs this one call; no refuses it.",
                    "enum": ["no", "yes"],
                }
            },
            "required": ["answer"],
        }
        assert ran(house) == 1
        assert await house.gateway.tickets.latest_tickets() == []


@pytest.mark.behaviour("confirmation.too_long")
async def test_a_call_that_a_question_cannot_hold_waits_as_a_ticket_where_all_of_it_is_read(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        client, repo = AskedClient(YES), f"{'x' * 100_000} && rm -rf / {'x' * 100_000}"
        ended = await deletes(house, client, arguments={"repo": repo})
        ticket = ticket_of(ended)
        assert (client.asked, ran(house)) == ([], 0)
        assert isinstance(ended, ConfirmationRefusal)
        assert ended.text.endswith(f"\n{NOT_READABLE_IN_CLIENT}")
        found = await house.gateway.tickets.find(ticket)
        assert found is not None
        displayed = await house.gateway.tickets.display(found, full=True)
        assert displayed is not None
        assert displayed.arguments == {"repo": repo}


@pytest.mark.behaviour("confirmation.too_long")
async def test_a_call_that_cannot_be_kept_whole_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        client = AskedClient(YES)
        ended = await deletes(house, client, arguments={"repo": "x" * 1_100_000})
        assert isinstance(ended, ConfirmationRefusal)
        assert (ended.reason, ended.ticket) == (MissingConfirmation.UNASKED, None)
        assert ended.text == (
            "A person must confirm this call of 'delete' first, and its arguments are larger than 1,024 KiB, so a "
            "person could not read all of them. It has not run. Send less in one call."
        )
        assert (client.asked, ran(house), await house.gateway.tickets.latest_tickets()) == ([], 0, [])


@pytest.mark.behaviour("confirmation.too_long")
async def test_without_a_place_for_tickets_a_call_that_is_too_long_is_refused() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await house.does(ASKS)
        ended = await deletes(house, AskedClient(YES), arguments={"repo": "x" * 100_000})
        assert isinstance(ended, ConfirmationRefusal)
        assert "Not all of its arguments can be read in a question" in ended.text
        assert ran(house) == 0


@pytest.mark.behaviour("confirmation.pinned_values_unseen")
async def test_a_pinned_value_reaches_the_tool_and_nobody_who_is_asked(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        pinned = {"repo": ArgumentOverride(pin=freeze_json("pinned-value"))}
        await house.does(SetOverride(Override(GITHUB.toolset, DELETE, requires_confirmation=True, arguments=pinned)))
        client = AskedClient(YES)
        assert await deletes(house, client, arguments={"why": "x"}) == OK
        waiting = ticket_of(await deletes(house, arguments={"why": "x"}))
        (ticket,) = await house.gateway.tickets.pending_tickets()
        assert (ticket.id, ticket.redacted_arguments) == (waiting, {"why": "x"})
        assert "pinned-value" not in f"{client.asked} {ticket}"
        await house.gateway.tickets.allow(waiting, ConsentScope.ONCE, ME)
        assert await deletes(house, arguments={"why": "x"}) == OK
        sent = [admitted.call.arguments for admitted in house.provider(GITHUB).calls]
        assert sent == [{"why": "x", "repo": "pinned-value"}] * 2


async def test_how_to_confirm_is_not_even_asked_of_a_call_that_needs_no_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path) as house:
        decided: list[object] = []
        monkeypatch.setattr(Policy, "confirmation_route", lambda _, *about: decided.append(about))
        ended = await house.gateway.caller.call(call_of("read", {}), View(), None, AskedClient(YES))
        assert (ended, decided) == (OK, [])


@pytest.mark.behaviour("confirmation.one_decision_one_call")
async def test_each_call_is_asked_about_by_itself(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        client = AskedClient(YES)
        for _ in range(3):
            assert await deletes(house, client) == OK
        assert (len(client.asked), ran(house)) == (3, 3)


@pytest.mark.behaviour("confirmation.one_decision_one_call")
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"answer": "no"}},
        {"action": "accept", "content": {"answer": "YES"}},
        {"action": "accept", "content": {"answer": True}},
        {"action": "accept", "content": "yes"},
        {"action": "Accept", "content": {"answer": "yes"}},
        {"action": "decline", "content": {"answer": "yes"}},
        {"content": {"answer": "yes"}},
        {},
    ],
    ids=str,
)
async def test_whatever_is_not_a_plain_yes_does_not_run_the_call(tmp_path: Path, answer: dict[str, Json]) -> None:
    async with asking(tmp_path) as house:
        ended = await deletes(house, AskedClient(answer))
        assert isinstance(ended, ConfirmationRefusal)
        assert (ended.reason, ended.ticket, ran(house)) == (MissingConfirmation.DENIED, None, 0)
        assert [record.outcome for record in house.audit.records] == [ended]


async def test_a_question_that_nobody_answers_ends_with_the_deadline(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        policy = house.board.policy
        house.board.set_policy(replace(policy, declared=replace(policy.declared, confirmation_seconds=0.05)))
        client = AskedClient(None)
        ended = await deletes(house, client)
        assert isinstance(ended, ConfirmationRefusal)
        assert (ended.reason, ran(house), client.given_up.is_set()) == (MissingConfirmation.UNANSWERED, 0, True)


async def test_a_tool_that_is_locked_while_the_person_thinks_does_not_run(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:

        class Locking(AskedClient):
            async def request(self, method: str, params: object, last: object = None) -> dict[str, Json]:
                await house.does(SetSwitch(DELETE, False))
                return dict(YES)

        assert isinstance(await deletes(house, Locking()), LockedToolRefusal)
        assert ran(house) == 0


async def test_arguments_that_do_not_fit_are_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        client = AskedClient(YES)
        assert isinstance(await deletes(house, client, arguments={"repo": 7}), BadArguments)
        assert client.asked == []
        assert await house.gateway.tickets.latest_tickets() == []


async def test_a_tool_that_needs_no_confirmation_is_not_asked_about(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        client = AskedClient(YES)
        assert await house.gateway.caller.call(call_of("read"), View(), None, client) == OK
        assert client.asked == []


@pytest.mark.behaviour("confirmation.asked_before_execution")
async def test_a_confirmed_call_whose_tool_asks_back_goes_on_without_asking_again(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        needs = NeedsInput(b'{"resultType":"input_required","requestState":"s1","inputRequests":{}}')
        client = AskedClient(YES)

        async def bring(state: bytes) -> CallOutcome:
            call = replace(call_of("delete", ARGUMENTS, client="cli 1"), id=CallId("again"))
            said = {"requestState": state, "inputResponses": b"{}"}
            return await house.gateway.caller.call(bringing(call, said), View(), None, client)

        house.provider(GITHUB).answers["delete"] = needs
        assert await deletes(house, client) == needs
        house.provider(GITHUB).answers["delete"] = OK
        assert await bring(b'"s1"') == OK
        assert len(client.asked) == 1
        assert await bring(b'"s1"') == OK
        assert await bring(b'"made up"') == OK
        assert len(client.asked) == 3, "what no confirmed call was answered with is asked about"


def test_a_yes_for_another_tool_with_the_same_words_is_none() -> None:
    other = Tool(ToolId(key("dev~other"), "delete"), SPEC)
    asked = AdmittedCall(call_of("delete"), Tool(DELETE, SPEC), confirm=True)
    assert asked.lacks_confirmation(CallConfirmation(other.id, SPEC.fingerprint))
    assert asked.lacks_confirmation(CallConfirmation(DELETE, ToolSpec("delete").fingerprint))
    assert asked.lacks_confirmation(None)
    assert not asked.lacks_confirmation(CallConfirmation(DELETE, SPEC.fingerprint))


def filling(repo: str, mode: str) -> SetOverride:
    arguments = {"repo": ArgumentOverride(default=freeze_json(repo)), "mode": ArgumentOverride(pin=freeze_json(mode))}
    return SetOverride(Override(GITHUB.toolset, DELETE, requires_confirmation=True, arguments=arguments))


MODES: dict[str, Json] = {"repo": {"type": "string"}, "mode": {"type": "string"}, "n": {"type": "number"}}
WITH_MODES = {GITHUB: (Tool(DELETE, ToolSpec("delete", input_schema={"type": "object", "properties": MODES})),)}


@pytest.mark.behaviour("confirmation.overrides_bound")
async def test_a_yes_is_bound_to_what_overrides_put_into_the_call(tmp_path: Path) -> None:
    async with asking(tmp_path, tools=WITH_MODES) as house:
        await house.does(filling("alice", "dry-run"))
        first = ticket_of(await deletes(house, arguments={"n": 1}))
        ticket = await house.gateway.tickets.find(first)
        assert ticket is not None
        assert ticket.filled_arguments is not None
        assert (ticket.filled_arguments.defaults, ticket.filled_arguments.pinned_names) == (
            {"repo": "alice"},
            ("mode",),
        )
        await house.gateway.tickets.allow(first, ConsentScope.ONCE, ME)
        await house.does(filling("mallory", "wipe"))
        assert ticket_of(await deletes(house, arguments={"n": 1})) != first
        assert ticket_of(await waits(house, first)) != first, "neither does it run by the ticket's own tool"
        assert ran(house) == 0
        await house.does(filling("alice", "dry-run"))
        second = ticket_of(await deletes(house, arguments={"n": 1}))
        await house.gateway.tickets.allow(second, ConsentScope.ONCE, ME)
        assert await deletes(house, arguments={"n": 1}) == OK


@pytest.mark.behaviour("confirmation.overrides_bound")
async def test_a_standing_permission_is_bound_to_what_overrides_put_into_calls(tmp_path: Path) -> None:
    async with asking(tmp_path, tools=WITH_MODES) as house:
        await house.does(filling("alice", "dry-run"))
        ticket = ticket_of(await deletes(house, arguments={"n": 1}))
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
        assert await deletes(house, arguments={"n": 2}) == OK
        await house.does(filling("alice", "wipe"))
        assert ticket_of(await deletes(house, arguments={"n": 2}))
        await house.does(filling("alice", "dry-run"))
        assert await deletes(house, arguments={"n": 2}) == OK


@pytest.mark.behaviour("confirmation.overrides_bound")
async def test_a_client_is_asked_again_when_overrides_change_while_its_user_reads(tmp_path: Path) -> None:
    async with asking(tmp_path, tools=WITH_MODES) as house:
        await house.does(filling("alice", "dry-run"))

        class Slow(AskedClient):
            async def request(
                self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
            ) -> Mapping[str, Json]:
                if not self.asked:
                    await house.does(filling("bob", "wipe"))
                return await super().request(method, params, last)

        client = Slow(YES)
        assert await deletes(house, client, arguments={"n": 1}) == OK
        head = "May the tool 'delete' of 'dev~github' run now? The call comes from 'cli 1'.\n\n"
        tail = "\n\nPinned by the operator, values not shown: 'mode'"
        assert [params["message"] for _, params in client.asked] == [
            f'{head}Its arguments, to the letter: {{"n": 1}}\n\nFilled in by the operator\'s override: '
            f'{{"repo": "{name}"}}{tail}'
            for name in ("alice", "bob")
        ]
        (sent,) = [admitted.call.arguments for admitted in house.provider(GITHUB).calls]
        assert sent == {"n": 1, "repo": "bob", "mode": "wipe"}
