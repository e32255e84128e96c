"""Our account at one server: the credentials of its connections, renewed in time, and the wait for a person."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import anyio
import httpx2
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from pegboard.children.erasing import Eraser
from pegboard.core.ids import ServerKey
from pegboard.core.server import Http, OAuth
from pegboard.ports import Clock, Secrets, SecretsAway, Unreadable
from pegboard.providers.mcp.trouble import Trouble

from .challenge import Challenge, wants_more
from .client import Answered, Client, Show, error_code
from .outgoing import Bounds, outgoing
from .record import Kept, Record, expiry

log: Final = logging.getLogger(__name__)

LOOK_AGAIN: Final = 5.0
"""Seconds from one look at the store to the next: a person may sign in by another process."""

_MARGIN: Final = timedelta(seconds=60)
_RENEW_AGAIN: Final = 30.0
_RENEWAL: Final = 15.0
"""Seconds for a whole renewal. It is not cut off before: the answer holds the only token that still works."""
_UNDER_WAY: Final = 1.0
"""Seconds that a refusal may take to get here after the headers it is about were renewed."""
_PASSING: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class SignInWanted:
    """Only a person can help. `why` says what became of an earlier sign-in."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class _Renewed:
    pass


@dataclass(frozen=True, slots=True)
class _Lapsed:
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Postponed:
    why: str


_Renewal: TypeAlias = _Renewed | _Lapsed | _Postponed


@dataclass(frozen=True, slots=True)
class _Refusal:
    challenge: Challenge
    because: _Lapsed | _Postponed


class Account:
    """The `Authorization` of one server. The desk signs in by it; the provider asks it what is missing."""

    def __init__(self, server: ServerKey, secrets: Secrets, clock: Clock) -> None:
        self.server = server
        self._kept = Kept(secrets, server)
        self._clock = clock
        self._how = OAuth()
        self._record = Record("")
        self._turn = anyio.Lock()
        self._refusal: _Refusal | None = None
        self._challenge = Challenge()
        self._short = False
        """Whether the server wanted more rights than were granted."""
        self._worthless: str | None = None
        """The access token that the server did not take: the store's copy of it is no news."""
        self._news = anyio.Event()
        self._away = False
        self._end = _Lapsed()
        """Why what we have cannot be renewed."""
        self._renewed = -math.inf
        self.trouble: str | None = None
        """What went wrong at the last try to sign in."""
        self.erase: Callable[[str], str] = Eraser()

    @property
    def is_open(self) -> bool:
        """Whether a connection was tried: before that, nobody knows the address."""
        return bool(self._record.url)

    @property
    def since(self) -> datetime | None:
        return None if self._record.tokens is None else self._record.since

    @property
    def last(self) -> datetime | None:
        """Stays when the server takes it no longer: whoever waits for a sign-in must not miss a short one."""
        return self._record.since

    async def open(self, server: Http) -> None:
        """Before each connection: with what is kept for the server at this address, renewed if it is about to end."""
        assert isinstance(server.oauth, OAuth)
        self._how, self._refusal, self._short, self.trouble = server.oauth, None, False, None
        self._adopt(await self._load(_bare(server.url)))
        if self._ends_soon():
            async with self._turn:
                await self._renew()

    def headers(self) -> Mapping[str, str]:
        token = self._record.access_token
        return {} if token is None else {"Authorization": f"Bearer {token}"}

    async def unauthorized(self, sent: Mapping[str, str] | None = None, challenge: str = "") -> bool:
        arrived = anyio.current_time()
        async with self._turn:
            if self._is_past(sent, arrived):
                return True
            renewal = await self._renew()
        if isinstance(renewal, _Renewed):
            return True
        self._refuse(challenge, renewal)
        return False

    def _is_past(self, sent: Mapping[str, str] | None, arrived: float) -> bool:
        """Whether the refused headers are no longer ours. Of who does not say what was sent, the time must tell."""
        if not self.headers():
            return False
        return self._renewed > arrived - _UNDER_WAY if sent is None else sent != self.headers()

    def rejected(self, challenge: str = "") -> None:
        self._refuse(challenge, _Lapsed("the server does not take the last sign-in"))

    def forbidden(self, challenge: str) -> bool:
        """One tool may want more than the others: the rest goes on, and the next sign-in asks for both."""
        if not wants_more(challenge):
            return False
        self._challenge, self._short = Challenge(challenge), True
        return True

    async def keep_fresh(self) -> float:
        while True:
            wait = self._lasts()
            await anyio.sleep(_RENEW_AGAIN if wait is None else wait)
            if wait is None or not self._ends_soon():
                continue
            async with self._turn:
                renewal = await self._renew() if self._ends_soon() else _Renewed()
            match renewal:
                case _Lapsed():
                    self._end = renewal
                    expires = self._record.expires
                    return 0.0 if expires is None else max(0.0, (expires - self._clock()).total_seconds())
                case _Postponed():
                    # The next request finds out whether the old token still holds; until then there is no harm.
                    await anyio.sleep(_RENEW_AGAIN)

    def lapse(self) -> None:
        self._refuse("", self._end)

    async def wanted(self) -> SignInWanted | str | None:
        """After a connection that ended by a refusal of our authorization: what it comes to."""
        refusal = self._refusal
        if refusal is None:
            if not self._short:
                return None
            why = "it wants more rights than were granted"
            self._refuse(self._challenge.text, _Lapsed(why))
            return SignInWanted(why)
        if isinstance(refusal.because, _Postponed):
            return refusal.because.why
        client = Client(Record(self._record.url), OAuth(scopes=self._how.scopes))
        try:
            async with outgoing(self._record.url) as send:
                await client.look(refusal.challenge, send)
        except Trouble as trouble:
            return trouble.why
        # Whoever says how to sign in means that one can, even where the server is silent about it.
        if not client.found and self._how == OAuth():
            return (
                "answered HTTP 401: needs sign-in, and does not say where. Put the credentials it wants in its headers"
            )
        return SignInWanted(refusal.because.why or self.trouble or "")

    async def signed_in(self, show: Callable[[], None]) -> None:
        """Until a person has signed in, here or by another process. `show` is called whenever a new link may be due."""
        while self._record.tokens is None:
            show()
            news = self._news
            with anyio.move_on_after(LOOK_AGAIN):
                await news.wait()
            if not news.is_set():
                found = await self._load(self._record.url)
                if found.tokens is not None and found.access_token != self._worthless:
                    self._adopt(found)

    def ring(self) -> None:
        """Something about the sign-in is new: a link was used, or there are tokens."""
        self._news.set()
        self._news = anyio.Event()

    async def sign_in(self, redirect_uri: str, show: Show, answered: Answered) -> None:
        """From a person's click to tokens that are kept. Raises `Trouble`."""
        record = await self._load(self._record.url)
        bounds = Bounds(httpx2.URL(record.url))

        async def checked(url: str) -> None:
            await bounds.check(httpx2.URL(url))
            await show(url)

        async def registered(client: OAuthClientInformationFull) -> None:
            await self._save(replace(record, client=client))

        client = Client(
            record, self._how, redirect_uri=redirect_uri, show=checked, answered=answered, registered=registered
        )
        async with outgoing(record.url) as send:
            tokens = await client.sign_in(self._challenge, send)
        context, now = client.context, self._clock()
        fresh = Record(
            record.url,
            client=context.client_info,
            tokens=tokens,
            since=now,
            expires=expiry(tokens, now),
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
        )
        await self._save(fresh)
        self._adopt(fresh)
        self.trouble = None
        self.ring()

    async def forget(self) -> bool:
        """Whether the authorization server was told too. Raises `SecretsAway`."""
        async with self._turn:
            record = await self._load(self._record.url)
            await self._kept.forget()
            self._adopt(Record(self._record.url))
        request = Client(record, self._how).revocation(record)
        if request is None:
            return False
        try:
            async with outgoing(record.url) as send:
                return (await send(request)).status_code == httpx2.codes.OK
        except Trouble as trouble:
            log.warning("%s was not told to forget our sign-in: it %s", self.server, trouble.why)
            return False

    def _refuse(self, challenge: str, because: _Lapsed | _Postponed) -> None:
        """The first reason stays while a connection ends, because the others follow from it."""
        if challenge or self._refusal is None:
            self._challenge = Challenge(challenge)
        if self._refusal is None or not isinstance(self._refusal.because, _Lapsed):
            self._refusal = _Refusal(self._challenge, because)
        if isinstance(because, _Lapsed):
            self._worthless = self._record.access_token or self._worthless
            self._record = replace(self._record, tokens=None)

    async def _renew(self) -> _Renewal:
        """Whoever holds the turn. The caller may leave; the renewal goes on, or its token would be lost with it."""
        with anyio.move_on_after(_RENEWAL, shield=True):
            return await self._renewal()
        return _Postponed("wants its sign-in renewed, and that took too long")

    async def _renewal(self) -> _Renewal:
        ours = self._record
        kept = await self._load(ours.url)
        if kept.tokens is not None and kept.access_token not in (ours.access_token, self._worthless):
            self._adopt(kept)  # another process was faster
            if not self._ends_soon():
                return _Renewed()
            ours = kept
        if ours.tokens is None:
            return _Lapsed(self.trouble or "")
        if ours.tokens.refresh_token is None or ours.client is None:
            return _Lapsed("the last sign-in has run out")
        client = Client(ours, self._how)
        try:
            async with outgoing(ours.url) as send:
                answer = await send(await client.renewal(ours))
        except Trouble as trouble:
            return _Postponed(trouble.why)
        if answer.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR or answer.status_code in _PASSING:
            return _Postponed(f"wants its sign-in renewed, and was answered HTTP {answer.status_code}")
        tokens = await client.renewed(answer)
        if tokens is None:
            return await self._lapsed(ours, error_code(answer) or f"HTTP {answer.status_code}")
        await self._take(ours, tokens)
        return _Renewed()

    async def _take(self, ours: Record, tokens: OAuthToken) -> None:
        self._renewed = anyio.current_time()
        fresh = replace(ours, tokens=tokens, expires=expiry(tokens, self._clock()))
        self._adopt(fresh)
        try:
            await self._kept.save(fresh)
        except SecretsAway as error:
            log.warning("The renewed sign-in to %s is not kept beyond this process: %s", self.server, error)

    async def _lapsed(self, ours: Record, code: str) -> _Renewal:
        """Of two who renew with one token at once the slower one is refused: then the store has the faster one's."""
        kept = await self._load(ours.url)
        if kept.tokens is not None and kept.access_token not in (ours.access_token, self._worthless):
            self._adopt(kept)
            return _Renewed()
        # A client that is unknown there must be registered anew.
        gone = code in ("invalid_client", "unauthorized_client")
        try:
            await self._kept.save(replace(ours, tokens=None, client=None if gone else ours.client))
        except SecretsAway as error:
            log.warning("The sign-in to %s has run out, and that is not kept: %s", self.server, error)
        return _Lapsed(f"the last sign-in was not renewed ({code})")

    async def _load(self, url: str) -> Record:
        """What nobody can read counts as nothing; that is told beside the link. A store that is away has no news."""
        try:
            found = await self._kept.load(url)
        except SecretsAway as error:
            if not self._away:
                log.warning("What is kept of the sign-in to %s cannot be read: %s", self.server, error)
            self._away = True
            return self._record if self._record.url == url else Record(url)
        self._away = False
        if isinstance(found, Unreadable):
            self.trouble = found.why
            return Record(url)
        return found

    async def _save(self, record: Record) -> None:
        try:
            await self._kept.save(record)
        except SecretsAway as error:
            raise Trouble(f"was not signed in to, because that cannot be kept: {error}") from error

    def _adopt(self, record: Record) -> None:
        self._record = record
        tokens, client = record.tokens, record.client
        secret = (
            *(() if tokens is None else (tokens.access_token, tokens.refresh_token)),
            *(() if client is None else (client.client_secret,)),
        )
        self.erase = Eraser(text for text in secret if text)

    def _ends_soon(self) -> bool:
        lasts = self._lasts()
        return lasts is not None and lasts <= 0

    def _lasts(self) -> float | None:
        """Seconds until the tokens should be renewed. None for tokens without an end, or that cannot be renewed."""
        record = self._record
        if record.tokens is None or record.expires is None or record.tokens.refresh_token is None:
            return None
        margin = min(_MARGIN, timedelta(seconds=(record.tokens.expires_in or 0) / 5))
        return max(0.0, (record.expires - margin - self._clock()).total_seconds())


def _bare(url: str) -> str:
    """Without what may be a key: the address is told to authorization servers. Empty for what is no address."""
    try:
        return str(httpx2.URL(url).copy_with(query=None, fragment=None, userinfo=b""))
    except httpx2.InvalidURL:
        return ""
