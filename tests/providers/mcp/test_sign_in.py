"""Servers that want a person to sign in: a state with a link, then tools, for as long as the sign-in can be renewed."""

import json
import logging
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.providers.mcp.running import KEY
from tests.providers.mcp.signing import ANN, BASE, Person, asking, guarded, process, until
from tests.providers.mcp.web import Endpoint, Events, answer, served
from tests.servers.guarded import MARK, Guarded
from tests.support.doubles import MemorySecrets

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import ProviderDown, ProviderNeedsSignIn, ProviderUp
from pegboard.core.model.server import NoOAuth, OAuth, Transport
from pegboard.ports.providers import CompletedSignIn, SignInUnavailable
from pegboard.providers.mcp.oauth import account

pytestmark = pytest.mark.anyio

NAME = f"sign-in to {KEY}"


def kept(secrets: MemorySecrets) -> Any:
    return json.loads(secrets.kept[NAME])


async def called(person: Person) -> Outcome:
    return await person.watched.call("echo", a=1)


async def down(person: Person) -> str:
    return (await person.watched.down()).why


@pytest.mark.behaviour("mcp.in.sign_in", "mcp.in.sign_in_renewed", "mcp.in.sign_in_lost")
@pytest.mark.parametrize("transport", list(Transport))
async def test_a_server_is_signed_in_to_renewed_and_lost_again(transport: Transport) -> None:
    guard = Guarded(Endpoint() if transport is Transport.STREAMABLE_HTTP else Events())
    async with asking(guard, transport=transport) as person:
        needed = await person.needed()
        assert needed.why == ""
        assert (await person.link()).startswith(f"{BASE}/sign-in/")
        assert guard.asked == [], "nothing is registered before a person clicks"
        assert await person.signs_in() == CompletedSignIn(KEY, ANN)
        tools = (await person.watched.up()).tools
        assert isinstance(await called(person), ToolSuccess)
        guard.expire()
        assert isinstance(await called(person), ToolSuccess)
        assert guard.asked == ["register", "authorization_code", "refresh_token"]
        guard.revoke()
        assert await called(person) == ProviderFailure(
            "dev~peer answered HTTP 401: needs sign-in. Ask the user to run: pegboard servers sign-in dev~peer",
            may_have_run=False,
        )
        assert (await person.needed()).why == "the last sign-in was not renewed (invalid_grant)"
        assert person.watched.provider.listing().tools == tools, "they stay on the board"
        await person.comes_in()
        assert isinstance(await called(person), ToolSuccess)
        assert guard.asked.count("register") == 1, "the client is still known there"


@pytest.mark.behaviour("mcp.in.sign_in_renewed")
async def test_calls_that_are_refused_together_are_renewed_once() -> None:
    guard = guarded()
    async with asking(guard) as person:
        await person.comes_in()
        guard.expire()
        ended: list[Outcome] = []

        async def call() -> None:
            ended.append(await called(person))

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(call)
        assert [type(each) for each in ended] == [ToolSuccess] * 12
        assert guard.asked.count("refresh_token") == 1


@pytest.mark.behaviour("mcp.in.sign_in_renewed")
async def test_a_sign_in_is_renewed_before_it_ends() -> None:
    guard = guarded(lasts=1)
    async with asking(guard) as person:
        await person.comes_in()
        await until(lambda: guard.asked.count("refresh_token") >= 2)
        assert guard.sent_in_vain == 0
        assert isinstance(person.watched.provider.listing().health, ProviderUp)


@pytest.mark.behaviour("mcp.in.sign_in_lost")
async def test_a_renewal_that_is_refused_ahead_of_the_end_wants_a_sign_in_though_nobody_calls() -> None:
    guard = guarded(lasts=2)
    async with asking(guard) as person:
        await person.comes_in()
        guard.renewable.clear()
        assert (await person.needed()).why == "the last sign-in was not renewed (invalid_grant)"
        assert guard.sent_in_vain == 0
        guard.lasts = None
        await person.comes_in()
        assert isinstance(await called(person), ToolSuccess)


async def test_a_call_that_takes_long_holds_no_other_up() -> None:
    reached, go_on = anyio.Event(), anyio.Event()

    async def slowly(request: Request, message: dict[str, Any]) -> Response | None:
        if message.get("params", {}).get("name") == "slow":
            reached.set()
            await go_on.wait()
            return answer(message, {"content": []})
        return None

    async with asking(Guarded(Endpoint(slowly))) as person, anyio.create_task_group() as tasks:
        await person.comes_in()
        tasks.start_soon(person.watched.call, "slow")
        with anyio.fail_after(30):
            await reached.wait()
            assert isinstance(await called(person), ToolSuccess)
        go_on.set()


async def test_a_renewal_goes_on_when_the_call_that_needed_it_is_given_up() -> None:
    guard, secrets = guarded(), MemorySecrets()
    async with asking(guard, secrets) as person:
        await person.comes_in()
        before = kept(secrets)["tokens"]["refresh_token"]
        guard.expire()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, person)
            await until(lambda: guard.sent_in_vain > 0)
            tasks.cancel_scope.cancel()
        await until(lambda: kept(secrets)["tokens"]["refresh_token"] != before)
        assert isinstance(await called(person), ToolSuccess)


@pytest.mark.behaviour("mcp.in.sign_in_lost")
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_renewal_that_fails_for_now_is_tried_again_without_a_person(status: int) -> None:
    guard = guarded()
    async with asking(guard) as person:
        await person.comes_in()
        guard.token_status = status
        guard.expire()
        await called(person)
        assert await down(person) == f"wants its sign-in renewed, and was answered HTTP {status}"
        guard.token_status = None
        await person.watched.up()
        assert guard.asked.count("authorization_code") == 1


async def test_a_sign_in_that_cannot_be_renewed_has_run_out() -> None:
    guard = guarded(refreshes=False, lasts=None)
    async with asking(guard) as person:
        await person.comes_in()
        guard.expire()
        await called(person)
        assert (await person.needed()).why == "the last sign-in has run out"


async def test_a_server_that_takes_no_token_says_so() -> None:
    guard = guarded(rejects=True)
    async with asking(guard) as person:
        assert await person.signs_in() == CompletedSignIn(KEY, ANN)
        await person.watched.until(
            lambda listing: isinstance(listing.health, ProviderNeedsSignIn) and listing.health.why != ""
        )
        assert (await person.needed()).why == "the server does not take the last sign-in"


@pytest.mark.behaviour("mcp.in.sign_in_renewed")
async def test_what_another_process_renewed_is_not_renewed_again() -> None:
    guard, secrets = guarded(), MemorySecrets()
    async with served(guard) as http, process(http, secrets) as one:
        await one.comes_in()
        async with process(http, secrets) as other:
            await other.watched.up()
            guard.expire()
            assert isinstance(await called(one), ToolSuccess)
            assert isinstance(await called(other), ToolSuccess)
            assert guard.asked.count("refresh_token") == 1


@pytest.mark.behaviour("mcp.in.sign_in")
async def test_a_sign_in_by_another_process_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "STORE_POLL_INTERVAL_S", 0.05)
    guard, secrets = guarded(), MemorySecrets()
    async with served(guard) as http, process(http, secrets) as one, process(http, secrets) as other:
        await one.needed()
        await other.comes_in()
        await one.watched.up()
        assert guard.asked.count("authorization_code") == 1


async def test_a_sign_in_outlives_the_process() -> None:
    guard, secrets = guarded(), MemorySecrets()
    async with served(guard) as http:
        async with process(http, secrets) as person:
            await person.comes_in()
        guard.expire()
        async with process(http, secrets) as person:
            await person.watched.up()
    assert guard.asked == ["register", "authorization_code", "refresh_token"]


async def test_a_sign_in_is_for_one_address_only() -> None:
    guard, elsewhere, secrets = guarded(), guarded(), MemorySecrets()
    async with served(guard) as http, served(elsewhere) as other:
        async with process(http, secrets) as person:
            await person.comes_in()
        async with process(other, secrets) as person:
            await person.needed()
    assert [headers for headers in elsewhere.headers if "authorization" in headers] == []


@pytest.mark.behaviour("store.secrets")
async def test_what_cannot_be_decrypted_any_more_needs_a_new_sign_in() -> None:
    guard, secrets = guarded(), MemorySecrets()
    async with served(guard) as http:
        async with process(http, secrets) as person:
            await person.comes_in()
        secrets.unreadable = "It is kept with another key. Sign in again."
        async with process(http, secrets) as person:
            assert (await person.needed()).why == "It is kept with another key. Sign in again."
            await person.comes_in()


async def test_a_sign_in_that_cannot_be_kept_is_none() -> None:
    guard, secrets = guarded(), MemorySecrets()
    async with asking(guard, secrets) as person:
        link = await person.link()
        secrets.away = "The disk is full."
        assert await person.follows(link) == SignInUnavailable(
            "dev~peer was not signed in to, because that cannot be kept: The disk is full."
        )
        secrets.away = None
        again = person.desk.create_link(KEY, ANN)
        assert isinstance(again, str)
        assert await person.follows(again) == CompletedSignIn(KEY, ANN)


@pytest.mark.behaviour("mcp.in.sign_out")
async def test_signing_out_forgets_the_tokens_here_and_there() -> None:
    guard, secrets = guarded(), MemorySecrets()
    async with asking(guard, secrets) as person:
        await person.comes_in()
        assert await person.desk.sign_out(KEY) is True
        assert (secrets.kept, guard.asked[-1], guard.valid) == ({}, "revoke", set())
        person.watched.provider.restart()
        await person.needed()


@pytest.mark.behaviour("mcp.in.sign_out")
async def test_signing_out_where_nothing_can_be_revoked_still_forgets() -> None:
    guard, secrets = guarded(metadata={"revocation_endpoint": None}), MemorySecrets()
    async with asking(guard, secrets) as person:
        await person.comes_in()
        assert await person.desk.sign_out(KEY) is False
        assert secrets.kept == {}


@pytest.mark.parametrize("how", ["never", "header"])
async def test_a_server_with_credentials_of_its_own_or_set_so_is_never_signed_in_to(how: str) -> None:
    guard = guarded()
    headers = {"authorization": "Bearer mine"} if how == "header" else {}
    async with asking(guard, headers=headers, oauth=NoOAuth() if how == "never" else OAuth()) as person:
        assert await down(person) == "answered HTTP 401: needs sign-in. Check the credentials in its headers"
        assert isinstance(person.desk.create_link(KEY, ANN), SignInUnavailable)


async def test_a_server_that_does_not_say_where_to_sign_in_is_down() -> None:
    async with asking(guarded(silent=True)) as person:
        assert await down(person) == (
            "answered HTTP 401: needs sign-in, and does not say where. Put the credentials it wants in its headers"
        )


async def test_rights_that_do_not_suffice_are_asked_for_beside_the_others() -> None:
    guard = guarded()
    async with asking(guard) as person:
        await person.comes_in()
        guard.short = "admin"
        refused = await called(person)
        assert isinstance(refused, ProviderFailure)
        assert "did not grant enough for this" in refused.why
        await person.comes_in()
        assert guard.granted == ["tools", "tools admin"]


@pytest.mark.behaviour("secrets.tokens_unseen")
async def test_a_token_is_in_no_message_no_log_and_no_listing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    guard, secrets = guarded(said="I do not know"), MemorySecrets()
    async with asking(guard, secrets) as person:
        await person.comes_in()
        guard.expire()
        await called(person)
        guard.rejects = True
        refused = await called(person)
        assert isinstance(refused, ProviderFailure)
        await person.needed()
        told = [str(listing) for listing in person.watched.seen] + [refused.why, repr(person.desk.state(KEY))]
        assert [text for text in told if MARK in text] == []
        ours = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpcore", "uvicorn"))]
        assert [line for line in ours if MARK in line] == []
        assert MARK in secrets.kept[NAME].decode(), "or this test would find nothing anywhere"


async def test_nothing_else_waits_for_a_sign_in() -> None:
    async with asking(guarded()) as person:
        await person.needed()
        assert not any(isinstance(listing.health, ProviderDown) for listing in person.watched.seen)
        person.watched.provider.restart()
        await person.needed()


@pytest.mark.behaviour("mcp.in.sign_in_renewed")
async def test_who_does_not_say_what_was_sent_is_served_by_one_renewal_too() -> None:
    guard = guarded()
    async with asking(guard) as person:
        await person.comes_in()
        ours = person.desk._accounts[KEY]
        before, answers = ours.headers, list[bool]()

        async def refused() -> None:
            answers.append(await ours.handle_unauthorized())

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(refused)
        assert (answers, guard.asked.count("refresh_token")) == ([True] * 8, 1)
        assert ours.headers != before


@pytest.mark.behaviour("mcp.in.sign_in")
async def test_a_server_that_wants_a_sign_in_for_some_calls_only_keeps_the_others() -> None:
    async def refuse(request: Request, message: dict[str, Any]) -> Response | None:
        wanted = message["method"] == "tools/call" and "authorization" not in request.headers
        return Response(status_code=401) if wanted else None

    guard = Guarded(Endpoint(refuse), unlocked=True)
    async with asking(guard) as person:
        await person.watched.up()
        refused = await called(person)
        assert isinstance(refused, ProviderFailure)
        assert "needs sign-in" in refused.why
        person.watched.provider.restart()
        await person.watched.up()
        assert not any(isinstance(listing.health, ProviderNeedsSignIn) for listing in person.watched.seen)
        link = person.desk.create_link(KEY, ANN)
        assert isinstance(link, str)
        assert await person.follows(link) == CompletedSignIn(KEY, ANN)
        assert isinstance(await called(person), ToolSuccess)
