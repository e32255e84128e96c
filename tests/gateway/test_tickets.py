"""Where nobody can be asked, a call becomes a ticket: decided by a person, used once, by its caller alone."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.core.boards import ME, NOW
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
    text_of,
    ticket_of,
    waits,
)
from tests.support.asking import AskedClient
from tests.support.doubles import OK, MemoryStore, Providers
from tests.support.house import call_of, declared, opened

from pegboard.core.calls.call import (
    AdmittedCall,
    BadArguments,
    ConfirmationRefusal,
    LockedToolRefusal,
    MissingConfirmation,
    NeedsInput,
    Outcome,
    ToolSuccess,
    refusal_text,
)
from pegboard.core.calls.tickets import ConsentScope, Ticket, TicketState
from pegboard.core.commands.commands import RevokeConsent, SetSwitch
from pegboard.core.explain.explain import DecisionStep, explain
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, PrincipalId
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import Consent, Lifetime, NoExpiry
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.confirmation import BoardConsents, Confirmation
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.providers import PeerRequestError, Progress

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("confirmation.ticket")
@pytest.mark.parametrize(
    "peer",
    [
        None,
        AskedClient(YES, capabilities={}),
        AskedClient(YES, capabilities={"elicitation": {"url": {}}}),
        AskedClient(PeerRequestError(-1, "x")),
    ],
    ids=["nobody", "no elicitation", "only links", "an error"],
)
async def test_where_nobody_can_be_asked_the_call_becomes_a_ticket(tmp_path: Path, peer: AskedClient | None) -> None:
    async with asking(tmp_path) as house:
        ended = await deletes(house, peer)
        (ticket,) = await house.gateway.tickets.pending_tickets()
        assert ticket_of(ended) == ticket.id
        assert refusal_text(ended) == (  # type: ignore[arg-type]  # it is one: see above
            f"confirmation_required: A person must confirm this call of 'delete' first, so it has not run. "
            f"It waits as ticket {ticket.id} until 03:09:05 UTC.\n"
            f"Ask the user to look at it and decide: pegboard tickets show {ticket.id}, then "
            f"pegboard tickets allow {ticket.id} or pegboard tickets deny {ticket.id}\n"
            f'Then repeat the call exactly as it was; or call pegboard_ticket with {{"ticket": "{ticket.id}"}}, '
            f"which waits for the decision and answers with the result. Do not look for another way to do the same."
        )
        assert (ticket.tool, ticket.principal, ticket.client) == (DELETE, LOCAL_PRINCIPAL, "cli 1")
        assert ticket.redacted_arguments == {"repo": "pegboard", "token": "[hidden: 11 characters]"}
        assert ran(house) == 0


@pytest.mark.behaviour("confirmation.ticket", "confirmation.one_decision_one_call")
async def test_a_yes_lets_the_same_call_run_once(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        assert ticket_of(await deletes(house)) == ticket, "the same call again waits for the same decision"
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert await deletes(house) == OK
        second = ticket_of(await deletes(house))
        assert second != ticket
        assert ran(house) == 1
        found = await house.gateway.tickets.find(ticket)
        assert found is not None
        assert (found.state, found.outcome) == (TicketState.DONE, "it returned")


@pytest.mark.behaviour("confirmation.ticket_is_its_callers")
@pytest.mark.parametrize(
    "other",
    [
        {"by": PrincipalId("eve")},
        {"client": "cli 2"},
        {"arguments": {"repo": "other", "token": "very-secret"}},
        {"arguments": {"repo": "pegboard", "token": "another-secret"}},
    ],
    ids=["principal", "client", "argument", "hidden argument"],
)
async def test_a_yes_is_for_nobody_and_nothing_else(tmp_path: Path, other: dict[str, object]) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert ticket_of(await deletes(house, **other)) != ticket  # type: ignore[arg-type]  # one of its keywords
        assert ran(house) == 0
        assert await deletes(house) == OK


@pytest.mark.behaviour("confirmation.ticket_is_its_callers")
async def test_nobody_else_learns_of_a_ticket(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        unknown = f"You have no ticket '{ticket}'. The answer to a call that must be confirmed gives its ticket's id."
        assert text_of(await waits(house, ticket, by=PrincipalId("eve"))) == unknown
        assert text_of(await waits(house, ticket, client="cli 2")) == unknown
        assert text_of(await waits(house, "nothing")) == unknown.replace(ticket, "nothing")
        assert ran(house) == 0


@pytest.mark.behaviour("confirmation.ticket")
async def test_a_denial_is_told_and_stands_for_a_while(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.deny(ticket, ME, "not today")
        ended = await deletes(house)
        until = house.clock() + timedelta(seconds=300)
        said = f"A person denied this call of 'delete' (ticket {ticket}), so it did not run. They say: 'not today'."
        more = "Do not try it again or in another way, unless the user asks you to."
        text = f"{said} Until {until:%H:%M:%S} UTC nobody is asked again. {more}"
        assert ended == ConfirmationRefusal(DELETE, MissingConfirmation.DENIED, text, ticket)
        assert text_of(await waits(house, ticket)) == f"confirmation_denied: {text}"
        house.clock.passes(301)
        assert ticket_of(await deletes(house)) != ticket
        assert ran(house) == 0


@pytest.mark.behaviour("confirmation.deadline")
async def test_after_the_deadline_a_ticket_can_neither_be_allowed_nor_used(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        late, unused = ticket_of(await deletes(house)), ticket_of(await deletes(house, arguments={"repo": "x"}))
        await house.gateway.tickets.allow(unused, ConsentScope.ONCE, ME)
        house.clock.passes(301)
        assert await house.gateway.tickets.allow(late, ConsentScope.ONCE, ME) == CommandRejection(
            f"Ticket {late} has expired: nobody decided in time. Its caller gets a new one by calling again."
        )
        told, idle = text_of(await waits(house, late)), text_of(await waits(house, unused))
        assert told.startswith(f"confirmation_unanswered: Nobody decided about ticket {late} in time")
        assert idle.startswith(f"confirmation_unanswered: Ticket {unused} was allowed and not used in time")
        assert ticket_of(await deletes(house)) not in (late, unused)
        assert ran(house) == 0


@pytest.mark.behaviour("confirmation.wait")
async def test_who_waits_for_a_ticket_gets_the_result_of_the_call(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        ended: list[CallOutcome] = []

        async def wait() -> None:
            ended.append(await waits(house, ticket, 60))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            while not house.gateway.caller.ticket_tool.waiting_count:
                await anyio.lowlevel.checkpoint()
            await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert ended == [OK]
        (admitted,) = house.provider(GITHUB).calls
        assert (admitted.call.arguments, admitted.tool.id, admitted.call.parent) == (ARGUMENTS, DELETE, "waiting")
        assert text_of(await waits(house, ticket)) == (
            f"confirmation_used: Ticket {ticket} was used: this call of 'delete' has run its course (it returned). "
            "One decision is for one call; call it anew to ask again."
        )
        assert ran(house) == 1


@pytest.mark.behaviour("confirmation.one_decision_one_call")
async def test_retries_and_waits_at_the_same_time_run_it_once(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        ended: list[CallOutcome] = []

        async def retry() -> None:
            ended.append(await deletes(house))

        async def wait() -> None:
            ended.append(await waits(house, ticket))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(retry)
                tasks.start_soon(wait)
        assert ran(house) == 1
        assert sum(isinstance(end, ToolSuccess) for end in ended) == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "'ticket' must be the id of a ticket"),
        ({"ticket": 7}, "'ticket' must be the id of a ticket"),
        ({"ticket": "x" * 65}, "'ticket' must be the id of a ticket"),
        ({"ticket": "x", "wait": -1}, "'wait' must be a number of seconds from 0 to 600"),
        ({"ticket": "x", "wait": True}, "'wait' must be a number of seconds from 0 to 600"),
        ({"ticket": "x", "wait": float("nan")}, "'wait' must be a number of seconds from 0 to 600"),
        ({"ticket": "x", "allow": True}, "'allow' is not an argument of this tool"),
    ],
    ids=str,
)
async def test_a_wait_with_wrong_arguments_is_told_what_is_wrong(
    tmp_path: Path, arguments: dict[str, Json], problem: str
) -> None:
    async with asking(tmp_path) as house:
        call = call_of("pegboard_ticket", arguments)
        ended = await house.gateway.caller.call(call, View())
        assert isinstance(ended, BadArguments)
        assert ended.problems == (problem,)


@pytest.mark.behaviour("confirmation.remembered")
@pytest.mark.parametrize("scope", [ConsentScope.CLIENT, ConsentScope.ALWAYS])
async def test_a_standing_permission_lets_further_calls_run_until_it_is_revoked(
    tmp_path: Path, scope: ConsentScope
) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, scope, ME)
        assert await deletes(house) == OK
        assert await deletes(house, arguments={"repo": "another"}) == OK
        another = await deletes(house, client="cli 2")
        assert another == OK if scope is ConsentScope.ALWAYS else ticket_of(another)
        assert ticket_of(await deletes(house, by=PrincipalId("eve")))
        ((id, consent),) = house.board.policy.decisions.consents.items()
        assert (consent.tool, consent.principal, consent.by) == (DELETE, LOCAL_PRINCIPAL, ME)
        trail = explain(house.board.catalogue, house.board.policy, View(), DELETE, now=house.clock())
        assert trail is not None
        who = "local" if scope is ConsentScope.ALWAYS else "local with 'cli 1'"
        assert trail.steps[-2] == DecisionStep(
            "Does it run without confirmation?",
            True,
            f"no: requires_confirmation is set; runs without confirmation for {who} until 2026-02-01 "
            f"(permission {id}, given by me), revoke: pegboard tickets revoke {id}",
        )
        await house.does(RevokeConsent(id))
        assert ticket_of(await deletes(house, arguments={"repo": "another"}))


@pytest.mark.behaviour("confirmation.standing_ends")
@pytest.mark.parametrize("lifetime", [None, timedelta(days=7), NOW + timedelta(hours=1)])
async def test_a_permission_that_has_ended_covers_no_call(tmp_path: Path, lifetime: Lifetime | None) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME, lifetime=lifetime)
        (consent,) = house.board.policy.decisions.consents.values()
        assert consent.until is not None
        expected = timedelta(days=30) if lifetime is None else lifetime
        assert consent.until == (NOW + expected if isinstance(expected, timedelta) else expected)
        house.clock.now = consent.until - timedelta(seconds=1)
        assert await deletes(house, arguments={"repo": "another"}) == OK
        house.clock.now = consent.until
        assert ticket_of(await deletes(house, arguments={"repo": "another"}))
        trail = explain(house.board.catalogue, house.board.policy, View(), DELETE, now=house.clock())
        assert trail is not None
        ended = f"the permission {consent.id}, given by me, for local lasted until {consent.until:%Y-%m-%d}"
        assert trail.steps[-2].answer == f"no: requires_confirmation is set; {ended}"


@pytest.mark.behaviour("confirmation.standing_ends")
@pytest.mark.parametrize("lifetime", [NOW, timedelta(), timedelta(days=3651), NoExpiry.NEVER])
async def test_an_end_that_cannot_be_decides_nothing(tmp_path: Path, lifetime: Lifetime) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        refused = await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME, lifetime=lifetime)
        assert isinstance(refused, CommandRejection)
        found = await house.gateway.tickets.find(ticket)
        assert found is not None
        assert (found.state, house.board.policy.decisions.consents) == (TicketState.WAITING, {})


@pytest.mark.behaviour("confirmation.standing_second_step")
@pytest.mark.parametrize("scope", [ConsentScope.CLIENT, ConsentScope.ALWAYS])
async def test_a_destructive_tool_gets_a_standing_permission_by_a_second_step_only(
    tmp_path: Path, scope: ConsentScope
) -> None:
    destructive = Tool(DELETE, replace(SPEC, annotations={"destructiveHint": True}))
    async with asking(tmp_path, tools={GITHUB: (destructive,)}) as house:
        ticket = ticket_of(await deletes(house))
        refused = await house.gateway.tickets.allow(ticket, scope, ME)
        assert isinstance(refused, CommandRejection)
        assert f"pegboard tickets allow {ticket} --{scope.value} --yes-destructive" in refused.why
        found = await house.gateway.tickets.find(ticket)
        assert found is not None
        assert (found.state, house.board.policy.decisions.consents) == (TicketState.WAITING, {})
        await house.gateway.tickets.allow(ticket, scope, ME, confirms_destructive=True)
        assert await deletes(house, arguments={"repo": "another"}) == OK


@pytest.mark.behaviour("confirmation.standing_second_step")
@pytest.mark.parametrize("said", ["always", "client", "yes, always"])
async def test_no_answer_in_the_callers_own_client_gives_a_standing_permission(tmp_path: Path, said: str) -> None:
    content: dict[str, Json] = {"answer": said, "scope": "always", "confirmDestructive": True}
    async with asking(tmp_path) as house:
        ended = await deletes(house, AskedClient({"action": "accept", "content": content}))
        assert isinstance(ended, ConfirmationRefusal)
        await deletes(house, AskedClient({"action": "accept", "content": {**content, "answer": "yes"}}))
        assert (house.board.policy.decisions.consents, ran(house)) == ({}, 1)


@pytest.mark.behaviour("confirmation.standing_last_use")
async def test_the_last_use_is_known_and_written_once_however_many_calls_there_are(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
        assert await house.gateway.tickets.last_uses() == {}
        (id,) = house.board.policy.decisions.consents
        saves = len(house.store.saves)
        for second in range(5):
            house.clock.passes(1)
            assert await deletes(house, arguments={"repo": str(second)}) == OK
        assert await house.gateway.tickets.last_uses() == {id: house.clock()}
        assert len(house.store.saves) == saves


class AwayConsents(BoardConsents):
    async def find(self, id: str) -> Consent | None:
        raise StoreUnavailable("The store does not answer.")


@pytest.mark.behaviour("confirmation.standing_revoked_everywhere")
async def test_while_the_store_is_away_no_standing_permission_counts(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
        confirmation = house.gateway.caller.confirmation
        asking_away = Confirmation(house.board, confirmation.tickets, house.clock, consents=AwayConsents(house.board))
        asked = AdmittedCall(
            call_of("delete", {"repo": "x"}, client="cli 1"), house.board.catalogue.tools[DELETE], True
        )
        answer = await asking_away.confirm(asked, None)
        assert isinstance(answer, ConfirmationRefusal)


@pytest.mark.behaviour("confirmation.remembered")
async def test_a_tool_that_changed_is_asked_about_anew(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        allowed = ticket_of(await deletes(house, arguments={"repo": "x"}))
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
        await house.gateway.tickets.allow(allowed, ConsentScope.ONCE, ME)
        changed = Tool(DELETE, replace(SPEC, description="Deletes everything."))
        house.provider(GITHUB).lists(changed)
        await house.until(lambda: house.board.catalogue.tools[DELETE].spec == changed.spec)
        assert ticket_of(await deletes(house)) != ticket
        assert ticket_of(await deletes(house, arguments={"repo": "x"})) != allowed
        assert ticket_of(await waits(house, allowed)) != allowed
        assert ran(house) == 0


async def test_a_client_without_a_name_cannot_be_granted_anything_by_name(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house, client=""))
        refused = await house.gateway.tickets.allow(ticket, ConsentScope.CLIENT, ME)
        assert isinstance(refused, CommandRejection)
        found = await house.gateway.tickets.find(ticket)
        assert found is not None
        assert found.state is TicketState.WAITING


async def test_what_was_locked_after_the_yes_does_not_run(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        await house.does(SetSwitch(DELETE, False))
        assert isinstance(await deletes(house), LockedToolRefusal)
        assert isinstance(await waits(house, ticket), LockedToolRefusal)
        assert ran(house) == 0


@pytest.mark.behaviour("confirmation.tickets_kept")
async def test_a_call_that_was_given_up_says_that_it_may_have_run(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        begun = anyio.Event()

        async def hang(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
            begun.set()
            await anyio.sleep_forever()
            raise AssertionError

        house.provider(GITHUB).answers["delete"] = hang
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deletes, house)
            await begun.wait()
            running = text_of(await waits(house, ticket))
            tasks.cancel_scope.cancel()
        assert "It may have run" in running
        found = await house.gateway.tickets.find(ticket)
        assert found is not None
        assert (found.state, found.outcome) == (TicketState.DONE, "its caller gave it up, and it may have run")


@pytest.mark.behaviour("confirmation.tickets_kept", "confirmation.one_decision_one_call")
async def test_a_gateway_that_died_while_the_call_ran_leaves_a_ticket_that_says_so(tmp_path: Path) -> None:
    store = MemoryStore()
    async with asking(tmp_path, store) as house:
        await house.does(ASKS)
        ticket = ticket_of(await deletes(house))
        allowed = await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert isinstance(allowed, Ticket)
        # All that a gateway writes before it calls the provider; then it is gone.
        await house.gateway.caller.confirmation.tickets.begin(allowed, CallId("died"), house.clock())
    async with asking(tmp_path, store) as house:
        assert text_of(await waits(house, ticket)) == (
            f"confirmation_used: Ticket {ticket} was used at 03:04:05 UTC, "
            "and no end of this call of 'delete' is known: it still runs, "
            "or the gateway that ran it ended midway. It may have run: check what it did before you call it again."
        )
        assert ticket_of(await deletes(house)) != ticket
        assert ran(house) == 0


@pytest.mark.behaviour("confirmation.operators")
async def test_decisions_about_tickets_are_part_of_the_activity(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        ticket, other = ticket_of(await deletes(house)), ticket_of(await deletes(house, arguments={"repo": "x"}))
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
        await house.gateway.tickets.deny(other, ME)
        noted = [(decision.about, decision.text) for decision in house.audit.decisions if decision.kind == "ticket"]
        assert noted == [
            (str(DELETE), f"allowed a call of local (ticket {ticket})"),
            (str(DELETE), "allowed local to call this without confirmation, from any client, until 2026-02-01"),
            (str(DELETE), f"denied a call of local (ticket {other})"),
        ]


@pytest.mark.behaviour("confirmation.tickets_kept")
async def test_tickets_and_standing_permissions_outlive_the_gateway(tmp_path: Path) -> None:
    store = MemoryStore()
    async with asking(tmp_path, store) as house:
        await house.does(ASKS)
        ticket = ticket_of(await deletes(house))
        kept = ticket_of(await deletes(house, arguments={"repo": "kept"}))
        await house.gateway.tickets.allow(kept, ConsentScope.ONCE, ME)
    async with asking(tmp_path, store) as house:
        assert [waiting.id for waiting in await house.gateway.tickets.pending_tickets()] == [ticket]
        assert await waits(house, kept) == OK
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
    async with asking(tmp_path, store) as house:
        assert await deletes(house, arguments={"repo": "by the grant"}) == OK
        assert await deletes(house) == OK


@pytest.mark.behaviour("confirmation.wait")
async def test_a_waited_for_call_whose_tool_asks_back_goes_on_by_the_ticket(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        needs = NeedsInput(b'{"resultType":"input_required","requestState":"s1","inputRequests":{}}')
        house.provider(GITHUB).answers["delete"] = needs
        ticket = ticket_of(await deletes(house))
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert await waits(house, ticket) == needs
        house.provider(GITHUB).answers["delete"] = OK
        call = call_of("pegboard_ticket", {"ticket": ticket}, client="cli 1")
        said = {"requestState": b'"s1"', "inputResponses": b"{}"}
        assert await house.gateway.caller.call(bringing(call, said), View()) == OK
        assert dict(house.provider(GITHUB).calls[-1].call.beside) == said
        assert text_of(await house.gateway.caller.call(bringing(call, said), View())).startswith(
            f"confirmation_used: Ticket {ticket} was"
        )


async def test_without_a_place_for_tickets_the_call_is_refused_with_a_remedy() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await house.does(ASKS)
        ended = await deletes(house)
        assert isinstance(ended, ConfirmationRefusal)
        assert (ended.reason, ran(house)) == (MissingConfirmation.UNASKED, 0)
        assert ended.text.startswith("A person must confirm this call first, and there is nobody to ask here")


@pytest.mark.behaviour("confirmation.bounded")
async def test_with_too_many_calls_waiting_no_more_are_asked_for(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        for number in range(20):
            ticket_of(await deletes(house, arguments={"repo": str(number)}))
        ended = await deletes(house)
        assert isinstance(ended, ConfirmationRefusal)
        assert (ended.reason, ended.ticket) == (MissingConfirmation.UNASKED, None)
        assert "20 calls of yours wait" in ended.text
        assert ticket_of(await deletes(house, by=PrincipalId("eve")))
