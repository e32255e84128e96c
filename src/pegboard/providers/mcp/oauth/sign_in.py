"""The sign-in service: links that work once, redirects to the server, and callbacks."""

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

from pegboard.core.model.ids import PrincipalId, ServerKey
from pegboard.core.model.server import Http, NoOAuth, Server
from pegboard.ports.providers import Clock, CompletedSignIn, SignInRedirect, SignInState, SignInUnavailable
from pegboard.ports.stores import SecretStore, SecretsUnavailable
from pegboard.processes.output import one_line
from pegboard.providers.mcp.errors import MAX_REASON_LENGTH, McpServerError
from pegboard.providers.mcp.oauth.account import OAuthAccount
from pegboard.providers.mcp.oauth.tokens import SignInRecordStore

SIGN_IN_PATH: Final = "/sign-in/"
CALLBACK_PATH: Final = "callback"
LINK_LIFETIME_S: Final = 600.0
PAGE_TIMEOUT_S: Final = 600.0
"""For a person on the server's own page."""
PREPARE_TIMEOUT_S: Final = 45.0
MAX_ATTEMPTS: Final = 32

_EXPIRED_MESSAGE: Final = (
    "This link has expired or was used before. Get a new one where you found it, "
    "or run: pegboard servers sign-in SERVER"
)
_UNKNOWN_MESSAGE: Final = (
    "Nobody is waiting for this sign-in: it took too long, was finished before, or began in another browser. "
    "Begin again with a new link: pegboard servers sign-in SERVER"
)


@dataclass(frozen=True)
class _SignInLink:
    account: OAuthAccount
    expires_at: float
    requested_by: PrincipalId
    """Who asked for it, and so who signs in by it."""


class SignInService:
    """One of a gateway. `base` is where people reach its pages; without one there are no links."""

    def __init__(self, kept: SecretStore, clock: Clock, tasks: TaskGroup) -> None:
        self.base_url: str | None = None
        self._secrets = kept
        self._clock = clock
        self._tasks = tasks
        self._accounts: dict[ServerKey, OAuthAccount] = {}
        self._links: dict[str, _SignInLink] = {}
        self._attempts: dict[str, _SignInAttempt] = {}

    def set_base_url(self, base: str) -> None:
        """From now on people reach our pages there."""
        self.base_url = base
        for account in self._accounts.values():
            account.notify()

    def account_for(self, server: Server) -> OAuthAccount | None:
        """None where nobody signs in: programs, servers with credentials of their own, and those set so."""
        reached = server.connection
        if not isinstance(reached, Http) or isinstance(reached.oauth, NoOAuth) or not isinstance(server.key, ServerKey):
            return None
        if any(name.lower() == "authorization" for name in reached.headers):
            return None
        account = self._accounts[server.key] = OAuthAccount(server.key, self._secrets, self._clock)
        return account

    def state(self, server: ServerKey) -> SignInState | SignInUnavailable:
        account = self._account_of(server)
        return (
            account
            if isinstance(account, SignInUnavailable)
            else SignInState(account.signed_in_since, account.problem, account.last_sign_in)
        )

    def create_link(self, server: ServerKey, by: PrincipalId) -> str | SignInUnavailable:
        account = self._account_of(server)
        if isinstance(account, SignInUnavailable):
            return account
        if not account.has_address:
            return SignInUnavailable(
                f"{server} has not been asked yet whether it wants a sign-in. Try again in a moment."
            )
        link = self._new_link(account, by)
        if link is None:
            told = "Nothing listens here that a person could come back to."
            return SignInUnavailable(f"{told} Run: pegboard servers sign-in {server}")
        return link

    async def begin(self, link: str) -> SignInRedirect | SignInUnavailable:
        found = self._links.pop(link, None)
        if found is None or found.expires_at < anyio.current_time() or self.base_url is None:
            return SignInUnavailable(_EXPIRED_MESSAGE)
        if len(self._attempts) >= MAX_ATTEMPTS:
            return SignInUnavailable("Too many sign-ins are under way. Finish one, or try again in ten minutes.")
        attempt = _SignInAttempt(found.account, found.requested_by)
        self._tasks.start_soon(self._run_attempt, attempt, f"{self.base_url}{SIGN_IN_PATH}{CALLBACK_PATH}")
        with anyio.move_on_after(PREPARE_TIMEOUT_S):
            await attempt.redirect_ready.wait()
        if attempt.url is None:
            return SignInUnavailable(
                attempt.format_problem(attempt.problem or "wants a sign-in, and does not say where in time")
            )
        return SignInRedirect(attempt.url, attempt.mark)

    async def finish(self, answer: Mapping[str, str], mark: str) -> CompletedSignIn | SignInUnavailable:
        attempt = self._attempts.pop(answer.get("state", ""), None)
        if attempt is None or not compare_digest(attempt.mark.encode(), mark.encode("utf-8", "surrogatepass")):
            if attempt is not None:
                attempt.scope.cancel()
            return SignInUnavailable(_UNKNOWN_MESSAGE)
        attempt.answer = answer
        attempt.callback_received.set()
        with anyio.move_on_after(PREPARE_TIMEOUT_S):
            await attempt.finished.wait()
        if not attempt.finished.is_set():
            return SignInUnavailable(attempt.format_problem("took too long to finish the sign-in"))
        if attempt.problem is not None:
            return SignInUnavailable(attempt.format_problem(attempt.problem))
        return CompletedSignIn(attempt.account.server, attempt.requested_by)

    async def sign_out(self, server: ServerKey) -> bool | SignInUnavailable:
        account = self._account_of(server)
        try:
            if isinstance(account, SignInUnavailable):
                await SignInRecordStore(
                    self._secrets, server
                ).forget()  # of a server that does not run, or not any more
                return account
            return await account.sign_out()
        except SecretsUnavailable as error:
            return SignInUnavailable(str(error))

    def _account_of(self, server: ServerKey) -> OAuthAccount | SignInUnavailable:
        account = self._accounts.get(server)
        if account is None:
            told = f"Nobody signs in to {server}: it is no server at a url, or it is off"
            return SignInUnavailable(f"{told}, or it has an Authorization header or oauth: false in its settings.")
        return account

    def _new_link(self, account: OAuthAccount, by: PrincipalId) -> str | None:
        if self.base_url is None:
            return None
        now = anyio.current_time()
        self._links = {id: link for id, link in self._links.items() if link.expires_at > now}
        id = secrets.token_urlsafe(32)
        self._links[id] = _SignInLink(account, now + LINK_LIFETIME_S, by)
        return f"{self.base_url}{SIGN_IN_PATH}{id}"

    async def _run_attempt(self, attempt: "_SignInAttempt", redirect_uri: str) -> None:
        async def show(url: str) -> None:
            state = parse_qs(urlsplit(url).query).get("state", [""])[0]
            attempt.url, attempt.state = url, state
            self._attempts[state] = attempt
            attempt.redirect_ready.set()

        try:
            with attempt.scope, anyio.move_on_after(PAGE_TIMEOUT_S):
                await attempt.account.sign_in(redirect_uri, show, attempt.await_code)
                attempt.problem = None
        except McpServerError as trouble:
            attempt.problem = trouble.why
        finally:
            self._attempts.pop(attempt.state, None)
            if attempt.problem is not None and attempt.callback_received.is_set():
                attempt.account.problem = attempt.format_problem(attempt.problem)
            attempt.redirect_ready.set()
            attempt.finished.set()


class _SignInAttempt:
    """One person on the way."""

    def __init__(self, account: OAuthAccount, requested_by: PrincipalId) -> None:
        self.account = account
        self.requested_by = requested_by
        self.mark = secrets.token_urlsafe(32)
        self.state = ""
        self.url: str | None = None
        self.answer: Mapping[str, str] = {}
        self.problem: str | None = "wants a sign-in, and nobody finished it"
        self.scope = anyio.CancelScope()
        self.redirect_ready = anyio.Event()
        self.callback_received = anyio.Event()
        self.finished = anyio.Event()

    async def await_code(self) -> AuthorizationCodeResult:
        await self.callback_received.wait()
        said = self.answer
        if "error" in said:
            more = f": {said['error_description']}" if said.get("error_description") else ""
            told = one_line(f"{said['error']}{more}", MAX_REASON_LENGTH).rstrip(".")
            raise McpServerError(f"was not signed in to: the authorization server answered {told}")
        if not said.get("code"):
            raise McpServerError("was not signed in to: the authorization server sent no code")
        return AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))

    def format_problem(self, why: str) -> str:
        return f"{self.account.server} {self.account.erase(why).rstrip('.')}."


@asynccontextmanager
async def open_sign_in_service(kept: SecretStore, clock: Clock) -> AsyncIterator[SignInService]:
    """Whoever is on the way when the block ends is not waited for."""
    async with anyio.create_task_group() as tasks:
        try:
            yield SignInService(kept, clock, tasks)
        finally:
            tasks.cancel_scope.cancel()
