"""The way of a person from a link to the server's page and back: once, in time, in one browser, to the right server."""

import anyio
import pytest
from tests.providers.mcp.running import KEY
from tests.providers.mcp.signing import ANN, Person, asking, consents, guarded, now
from tests.support.doubles import MemorySecrets

from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.ports.providers import CompletedSignIn, SignInRedirect, SignInUnavailable
from pegboard.providers.mcp.oauth import sign_in as desk

pytestmark = pytest.mark.anyio

EXPIRED = SignInUnavailable(desk._EXPIRED_MESSAGE)
UNKNOWN = SignInUnavailable(desk._UNKNOWN_MESSAGE)


async def sent(person: Person) -> SignInRedirect:
    link = await person.link()
    begun = await person.desk.begin(link.rpartition("/")[2])
    assert isinstance(begun, SignInRedirect), begun
    return begun


@pytest.mark.behaviour("mcp.in.sign_in_link")
async def test_a_link_works_once_and_whoever_asks_gets_another() -> None:
    async with asking(guarded()) as person:
        link = await person.link()
        assert isinstance(await person.desk.begin(link.rpartition("/")[2]), SignInRedirect)
        assert await person.follows(link) == EXPIRED
        assert await person.link() != link
        await person.comes_in()


@pytest.mark.behaviour("mcp.in.sign_in_link")
async def test_a_link_works_for_a_few_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(guarded()) as person:
        link = await person.link()
        monkeypatch.setattr(desk, "LINK_LIFETIME_S", -1.0)
        late = person.desk.create_link(KEY, ANN)
        assert isinstance(late, str)
        assert await person.follows(late) == EXPIRED
        monkeypatch.undo()
        assert await person.follows(link) == CompletedSignIn(KEY, ANN), "the others are not touched"


@pytest.mark.behaviour("mcp.in.sign_in_link")
@pytest.mark.parametrize("guess", ["", "callback", "x" * 43, "../../etc", "\x00"])
async def test_a_link_cannot_be_guessed(guess: str) -> None:
    async with asking(guarded()) as person:
        await person.needed()
        assert await person.desk.begin(guess) == EXPIRED


@pytest.mark.behaviour("mcp.in.sign_in_link")
async def test_whoever_comes_back_twice_is_let_in_once() -> None:
    guard = guarded()
    async with asking(guard) as person:
        begun = await sent(person)
        back = await consents(begun.url)
        assert await person.desk.finish(back, begun.mark) == CompletedSignIn(KEY, ANN)
        assert await person.desk.finish(back, begun.mark) == UNKNOWN
        assert guard.asked.count("authorization_code") == 1


@pytest.mark.behaviour("mcp.in.sign_in_link")
@pytest.mark.parametrize("state", ["", "another", None])
async def test_whoever_brings_another_state_is_not_let_in(state: str | None) -> None:
    guard = guarded()
    async with asking(guard) as person:
        begun = await sent(person)
        back = await consents(begun.url)
        wrong = {name: value for name, value in back.items() if name != "state"}
        assert await person.desk.finish(wrong if state is None else {**wrong, "state": state}, begun.mark) == UNKNOWN
        assert await person.desk.finish(back, begun.mark) == CompletedSignIn(KEY, ANN), "the true one still comes in"


@pytest.mark.behaviour("mcp.in.sign_in_link")
@pytest.mark.parametrize("mark", ["", "another", "\udcff"])
async def test_another_browser_cannot_finish_and_ends_the_attempt(mark: str) -> None:
    guard = guarded()
    async with asking(guard) as person:
        begun = await sent(person)
        back = await consents(begun.url)
        assert await person.desk.finish(back, mark) == UNKNOWN
        assert await person.desk.finish(back, begun.mark) == UNKNOWN
        assert "authorization_code" not in guard.asked
        await person.comes_in()


async def test_who_says_no_is_told_so_and_may_try_again() -> None:
    guard = guarded(denies=True)
    async with asking(guard) as person:
        refused = await person.signs_in()
        told = "the authorization server answered access_denied: <b>You</b> said no"
        assert refused == SignInUnavailable(f"dev~peer was not signed in to: {told}.")
        state = person.desk.state(KEY)
        assert not isinstance(state, SignInUnavailable)
        assert (state.since, state.problem) == (None, f"dev~peer was not signed in to: {told}.")
        guard.denies = False
        again = person.desk.create_link(KEY, ANN)
        assert isinstance(again, str)
        assert await person.follows(again) == CompletedSignIn(KEY, ANN)


async def test_an_answer_without_a_code_is_none() -> None:
    async with asking(guarded()) as person:
        begun = await sent(person)
        back = await consents(begun.url)
        assert await person.desk.finish({"state": back["state"]}, begun.mark) == SignInUnavailable(
            "dev~peer was not signed in to: the authorization server sent no code."
        )


async def test_a_code_that_the_server_does_not_take_gives_no_token() -> None:
    async with asking(guarded()) as person:
        begun = await sent(person)
        back = await consents(begun.url)
        assert await person.desk.finish({**back, "code": "another"}, begun.mark) == SignInUnavailable(
            "dev~peer wants a sign-in, and its authorization server gave us no token (HTTP 400, invalid_grant)."
        )


@pytest.mark.behaviour("mcp.in.sign_in_link")
async def test_a_person_who_never_comes_back_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "PAGE_TIMEOUT_S", 0.2)
    async with asking(guarded()) as person:
        begun = await sent(person)
        back = await consents(begun.url)
        with anyio.fail_after(30):
            while person.desk._attempts:  # noqa: ASYNC110 - the end of a task that nobody awaits
                await anyio.sleep(0.01)
        assert await person.desk.finish(back, begun.mark) == UNKNOWN


async def test_only_so_many_are_on_the_way_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "MAX_ATTEMPTS", 1)
    async with asking(guarded()) as person:
        await sent(person)
        link = person.desk.create_link(KEY, ANN)
        assert isinstance(link, str)
        assert await person.follows(link) == SignInUnavailable(
            "Too many sign-ins are under way. Finish one, or try again in ten minutes."
        )


async def test_where_nothing_listens_there_is_a_command_instead_of_a_link() -> None:
    async with asking(guarded()) as person:
        await person.needed()
        person.desk.base_url = None
        assert person.desk.create_link(KEY, ANN) == SignInUnavailable(
            f"Nothing listens here that a person could come back to. Run: pegboard servers sign-in {KEY}"
        )


@pytest.mark.behaviour("mcp.in.sign_out")
async def test_what_is_kept_for_a_server_that_does_not_run_is_forgotten_too() -> None:
    secrets = MemorySecrets()
    secrets.kept = {"sign-in to dev~gone": b"{}", "sign-in to dev~other": b"{}"}
    async with desk.open_sign_in_service(secrets, now) as here:
        assert isinstance(await here.sign_out(ServerKey(ToolsetId("dev"), ServerId("gone"))), SignInUnavailable)
    assert secrets.kept == {"sign-in to dev~other": b"{}"}
