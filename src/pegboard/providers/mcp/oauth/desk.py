"""The desk where people sign in: links that work once, the way to the server's page, and the way back."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hmac import compare_digest
from typing import Final
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import TaskGroup
from mcp.shared.auth import AuthorizationCodeResult

from pegboard.children.lines import one_line
from pegboard.core.ids import PrincipalId, ServerKey
from pegboard.core.server import Http, NoOAuth, Server
from pegboard.ports import Clock, NoSignIn, Secrets, SecretsAway, SentTo, SignedIn, SignInState
from pegboard.providers.mcp.trouble import LONGEST_WHY, Trouble

from .account import Account
from .record import Kept

PATH: Final = "/sign-in/"
CALLBACK: Final = "callback"
LINK_SECONDS: Final = 600.0
PAGE_SECONDS: Final = 600.0
"""For a person on the server's own page."""
PREPARE_SECONDS: Final = 45.0
MOST_UNDER_WAY: Final = 32

_EXPIRED: Final = (
    "This link has expired or was used before. Get a new one where you found it, "
    "or run: pegboard servers sign-in SERVER"
)
_UNKNOWN: Final = (
    "Nobody is waiting for this sign-in: it took too long, was finished before, or began in another browser. "
    "Begin again with a new link: pegboard servers sign-in SERVER"
)


@dataclass(frozen=True)
class _Link:
    account: Account
    until: float
    by: PrincipalId
    """Who asked for it, and so who signs in by it."""


class Desk:
    """One of a gateway. `base` is where people reach its pages; without one there are no links."""

    def __init__(self, kept: Secrets, clock: Clock, tasks: TaskGroup) -> None:
        self.base: str | None = None
        self._kept = kept
        self._clock = clock
        self._tasks = tasks
        self._accounts: dict[ServerKey, Account] = {}
        self._links: dict[str, _Link] = {}
        self._under_way: dict[str, _Attempt] = {}

    def listen_at(self, base: str) -> None:
        """From now on people reach our pages there."""
        self.base = base
        for account in self._accounts.values():
            account.ring()

    def account(self, server: Server) -> Account | None:
        """None where nobody signs in: programs, servers with credentials of their own, and those set so."""
        reached = server.connection
        if not isinstance(reached, Http) or isinstance(reached.oauth, NoOAuth) or not isinstance(server.key, ServerKey):
            return None
        if any(name.lower() == "authorization" for name in reached.headers):
            return None
        account = self._accounts[server.key] = Account(server.key, self._kept, self._clock)
        return account

    def state(self, server: ServerKey) -> SignInState | NoSignIn:
        account = self._account(server)
        return account if isinstance(account, NoSignIn) else SignInState(account.since, account.trouble, account.last)

    def link(self, server: ServerKey, by: PrincipalId) -> str | NoSignIn:
        account = self._account(server)
        if isinstance(account, NoSignIn):
            return account
        if not account.is_open:
            return NoSignIn(f"{server} has not been asked yet whether it wants a sign-in. Try again in a moment.")
        link = self._new_link(account, by)
        if link is None:
            told = "Nothing listens here that a person could come back to."
            return NoSignIn(f"{told} Run: pegboard servers sign-in {server}")
        return link

    async def begin(self, link: str) -> SentTo | NoSignIn:
        found = self._links.pop(link, None)
        if found is None or found.until < anyio.current_time() or self.base is None:
            return NoSignIn(_EXPIRED)
        if len(self._under_way) >= MOST_UNDER_WAY:
            return NoSignIn("Too many sign-ins are under way. Finish one, or try again in ten minutes.")
        attempt = _Attempt(found.account, found.by)
        self._tasks.start_soon(self._attempt, attempt, f"{self.base}{PATH}{CALLBACK}")
        with anyio.move_on_after(PREPARE_SECONDS):
            await attempt.moved.wait()
        if attempt.url is None:
            return NoSignIn(attempt.told(attempt.trouble or "wants a sign-in, and does not say where in time"))
        return SentTo(attempt.url, attempt.mark)

    async def finish(self, answer: Mapping[str, str], mark: str) -> SignedIn | NoSignIn:
        attempt = self._under_way.pop(answer.get("state", ""), None)
        if attempt is None or not compare_digest(attempt.mark.encode(), mark.encode("utf-8", "surrogatepass")):
            if attempt is not None:
                attempt.scope.cancel()
            return NoSignIn(_UNKNOWN)
        attempt.answer = answer
        attempt.answered.set()
        with anyio.move_on_after(PREPARE_SECONDS):
            await attempt.over.wait()
        if not attempt.over.is_set():
            return NoSignIn(attempt.told("took too long to finish the sign-in"))
        if attempt.trouble is not None:
            return NoSignIn(attempt.told(attempt.trouble))
        return SignedIn(attempt.account.server, attempt.by)

    async def forget(self, server: ServerKey) -> bool | NoSignIn:
        account = self._account(server)
        try:
            if isinstance(account, NoSignIn):
                await Kept(self._kept, server).forget()  # of a server that does not run, or not any more
                return account
            return await account.forget()
        except SecretsAway as error:
            return NoSignIn(str(error))

    def _account(self, server: ServerKey) -> Account | NoSignIn:
        account = self._accounts.get(server)
        if account is None:
            told = f"Nobody signs in to {server}: it is no server at a url, or it is off"
            return NoSignIn(f"{told}, or it has an Authorization header or oauth: false in its settings.")
        return account

    def _new_link(self, account: Account, by: PrincipalId) -> str | None:
        if self.base is None:
            return None
        now = anyio.current_time()
        self._links = {id: link for id, link in self._links.items() if link.until > now}
        id = secrets.token_urlsafe(32)
        self._links[id] = _Link(account, now + LINK_SECONDS, by)
        return f"{self.base}{PATH}{id}"

    async def _attempt(self, attempt: "_Attempt", redirect_uri: str) -> None:
        async def show(url: str) -> None:
            state = parse_qs(urlsplit(url).query).get("state", [""])[0]
            attempt.url, attempt.state = url, state
            self._under_way[state] = attempt
            attempt.moved.set()

        try:
            with attempt.scope, anyio.move_on_after(PAGE_SECONDS):
                await attempt.account.sign_in(redirect_uri, show, attempt.received)
                attempt.trouble = None
        except Trouble as trouble:
            attempt.trouble = trouble.why
        finally:
            self._under_way.pop(attempt.state, None)
            if attempt.trouble is not None and attempt.answered.is_set():
                attempt.account.trouble = attempt.told(attempt.trouble)
            attempt.moved.set()
            attempt.over.set()


class _Attempt:
    """One person on the way."""

    def __init__(self, account: Account, by: PrincipalId) -> None:
        self.account = account
        self.by = by
        self.mark = secrets.token_urlsafe(32)
        self.state = ""
        self.url: str | None = None
        self.answer: Mapping[str, str] = {}
        self.trouble: str | None = "wants a sign-in, and nobody finished it"
        self.scope = anyio.CancelScope()
        self.moved = anyio.Event()
        self.answered = anyio.Event()
        self.over = anyio.Event()

    async def received(self) -> AuthorizationCodeResult:
        await self.answered.wait()
        said = self.answer
        if "error" in said:
            more = f": {said['error_description']}" if said.get("error_description") else ""
            told = one_line(f"{said['error']}{more}", LONGEST_WHY).rstrip(".")
            raise Trouble(f"was not signed in to: the authorization server answered {told}")
        if not said.get("code"):
            raise Trouble("was not signed in to: the authorization server sent no code")
        return AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))

    def told(self, why: str) -> str:
        return f"{self.account.server} {self.account.erase(why).rstrip('.')}."


@asynccontextmanager
async def open_desk(kept: Secrets, clock: Clock) -> AsyncIterator[Desk]:
    """Whoever is on the way when the block ends is not waited for."""
    async with anyio.create_task_group() as tasks:
        try:
            yield Desk(kept, clock, tasks)
        finally:
            tasks.cancel_scope.cancel()
