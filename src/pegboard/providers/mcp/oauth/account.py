"""Credentials for one server: renewed in time; waits for a person if they must sign in."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import anyio
import httpx2
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from pegboard.core.model.ids import ServerKey
from pegboard.core.model.server import Http, OAuth
from pegboard.ports.providers import Clock
from pegboard.ports.stores import SecretStore, SecretsUnavailable, UnreadableSecret
from pegboard.processes.output import SecretFilter
from pegboard.providers.mcp.errors import McpServerError
from pegboard.providers.mcp.oauth.client import AwaitCallback, OAuthClient, ShowUrl, error_code
from pegboard.providers.mcp.oauth.http import SignInAddressPolicy, open_sender
from pegboard.providers.mcp.oauth.tokens import (
    Challenge,
    SignInRecord,
    SignInRecordStore,
    expiry_of,
    is_insufficient_scope,
)

log: Final = logging.getLogger(__name__)

STORE_POLL_INTERVAL_S: Final = 5.0
"""Seconds from one look at the store to the next: a person may sign in by another process."""

_RENEWAL_MARGIN: Final = timedelta(seconds=60)
_RENEWAL_RETRY_S: Final = 30.0
_RENEWAL_TIMEOUT_S: Final = 15.0
"""Seconds for a whole renewal. It is not cut off before: the answer holds the only token that still works."""
_IN_TRANSIT_S: Final = 1.0
"""Seconds that a refusal may take to get here after the headers it is about were renewed."""
_TRANSIENT_STATUSES: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class MissingSignIn:
    """Only a person can help. `why` says what became of an earlier sign-in."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class _RenewalSuccess:
    pass


@dataclass(frozen=True, slots=True)
class _SignInLapse:
    why: str = ""


@dataclass(frozen=True, slots=True)
class _RenewalDelay:
    why: str


_RenewalResult: TypeAlias = _RenewalSuccess | _SignInLapse | _RenewalDelay


@dataclass(frozen=True, slots=True)
class _AuthorizationRefusal:
    challenge: Challenge
    reason: _SignInLapse | _RenewalDelay


class OAuthAccount:
    """The `Authorization` of one server. The desk signs in by it; the provider asks it what is missing."""

    def __init__(self, server: ServerKey, secrets: SecretStore, clock: Clock) -> None:
        self.server = server
        self._store = SignInRecordStore(secrets, server)
        self._clock = clock
        self._oauth = OAuth()
        self._set_record(SignInRecord(""))
        self._lock = anyio.Lock()
        self._refusal: _AuthorizationRefusal | None = None
        self._challenge = Challenge()
        self._lacks_scope = False
        """Whether the server wanted more rights than were granted."""
        self._rejected_token: str | None = None
        """The access token that the server did not take: the store's copy of it is no news."""
        self._news_event = anyio.Event()
        self._is_store_unavailable = False
        self._lapse_reason = _SignInLapse()
        """Why what we have cannot be renewed."""
        self._renewed_at = -math.inf
        self.problem: str | None = None
        """What went wrong at the last try to sign in."""
        self.erase: Callable[[str], str] = SecretFilter()

    @property
    def has_address(self) -> bool:
        """Whether a connection was tried: before that, nobody knows the address."""
        return bool(self._record.url)

    @property
    def signed_in_since(self) -> datetime | None:
        return None if self._record.tokens is None else self._record.signed_in_at

    @property
    def last_sign_in(self) -> datetime | None:
        """Stays when the server takes it no longer: whoever waits for a sign-in must not miss a short one."""
        return self._record.signed_in_at

    async def open(self, server: Http) -> None:
        """Before each connection: with what is kept for the server at this address, renewed if it is about to end."""
        assert isinstance(server.oauth, OAuth)
        self._oauth, self._refusal, self._lacks_scope, self.problem = server.oauth, None, False, None
        self._adopt(await self._load(_public_url(server.url)))
        if self._ends_soon():
            async with self._lock:
                await self._renew()

    async def handle_unauthorized(self, sent: Mapping[str, str] | None = None, challenge: str = "") -> bool:
        arrived = anyio.current_time()
        async with self._lock:
            if self._is_already_renewed(sent, arrived):
                return True
            renewal = await self._renew()
        if isinstance(renewal, _RenewalSuccess):
            return True
        self._record_refusal(challenge, renewal)
        return False

    def _is_already_renewed(self, sent: Mapping[str, str] | None, arrived: float) -> bool:
        """Whether the refused headers are no longer ours. Of who does not say what was sent, the time must tell."""
        if not self.headers:
            return False
        return self._renewed_at > arrived - _IN_TRANSIT_S if sent is None else sent != self.headers

    def mark_rejected(self, challenge: str = "") -> None:
        self._record_refusal(challenge, _SignInLapse("the server does not take the last sign-in"))

    def handle_forbidden(self, challenge: str) -> bool:
        """One tool may want more than the others: the rest goes on, and the next sign-in asks for both."""
        if not is_insufficient_scope(challenge):
            return False
        self._challenge, self._lacks_scope = Challenge(challenge), True
        return True

    async def keep_fresh(self) -> float:
        while True:
            wait = self._seconds_until_renewal()
            await anyio.sleep(_RENEWAL_RETRY_S if wait is None else wait)
            if wait is None or not self._ends_soon():
                continue
            async with self._lock:
                renewal = await self._renew() if self._ends_soon() else _RenewalSuccess()
            match renewal:
                case _SignInLapse():
                    self._lapse_reason = renewal
                    expires = self._record.expires_at
                    return 0.0 if expires is None else max(0.0, (expires - self._clock()).total_seconds())
                case _RenewalDelay():
                    # The next request finds out whether the old token still holds; until then there is no harm.
                    await anyio.sleep(_RENEWAL_RETRY_S)

    def mark_lapsed(self) -> None:
        self._record_refusal("", self._lapse_reason)

    async def missing_sign_in(self) -> MissingSignIn | str | None:
        """After a connection that ended by a refusal of our authorization: what it comes to."""
        refusal = self._refusal
        if refusal is None:
            if not self._lacks_scope:
                return None
            why = "it wants more rights than were granted"
            self._record_refusal(self._challenge.text, _SignInLapse(why))
            return MissingSignIn(why)
        if isinstance(refusal.reason, _RenewalDelay):
            return refusal.reason.why
        client = OAuthClient(SignInRecord(self._record.url), OAuth(scopes=self._oauth.scopes))
        try:
            async with open_sender(self._record.url) as send:
                await client.discover(refusal.challenge, send)
        except McpServerError as trouble:
            return trouble.why
        # Whoever says how to sign in means that one can, even where the server is silent about it.
        if not client.has_metadata and self._oauth == OAuth():
            return (
                "answered HTTP 401: needs sign-in, and does not say where. Put the credentials it wants in its headers"
            )
        return MissingSignIn(refusal.reason.why or self.problem or "")

    async def wait_for_sign_in(self, show: Callable[[], None]) -> None:
        """Until a person has signed in, here or by another process. `show` is called whenever a new link may be due."""
        while self._record.tokens is None:
            show()
            news = self._news_event
            with anyio.move_on_after(STORE_POLL_INTERVAL_S):
                await news.wait()
            if not news.is_set():
                found = await self._load(self._record.url)
                if found.tokens is not None and found.access_token != self._rejected_token:
                    self._adopt(found)

    def notify(self) -> None:
        """Something about the sign-in is new: a link was used, or there are tokens."""
        self._news_event.set()
        self._news_event = anyio.Event()

    async def sign_in(self, redirect_uri: str, show: ShowUrl, answered: AwaitCallback) -> None:
        """From a person's click to tokens that are kept. Raises `McpServerError`."""
        record = await self._load(self._record.url)
        bounds = SignInAddressPolicy(httpx2.URL(record.url))

        async def check_and_show(url: str) -> None:
            await bounds.check_url(httpx2.URL(url))
            await show(url)

        async def save_client(client: OAuthClientInformationFull) -> None:
            await self._save(replace(record, client=client))

        client = OAuthClient(
            record,
            self._oauth,
            redirect_uri=redirect_uri,
            show=check_and_show,
            answered=answered,
            registered=save_client,
        )
        async with open_sender(record.url) as send:
            tokens = await client.sign_in(self._challenge, send)
        context, now = client.context, self._clock()
        fresh = SignInRecord(
            record.url,
            client=context.client_info,
            tokens=tokens,
            signed_in_at=now,
            expires_at=expiry_of(tokens, now),
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
        )
        await self._save(fresh)
        self._adopt(fresh)
        self.problem = None
        self.notify()

    async def sign_out(self) -> bool:
        """Whether the authorization server was told too. Raises `SecretsUnavailable`."""
        async with self._lock:
            record = await self._load(self._record.url)
            await self._store.forget()
            self._adopt(SignInRecord(self._record.url))
        request = OAuthClient(record, self._oauth).revocation_request(record)
        if request is None:
            return False
        try:
            async with open_sender(record.url) as send:
                return (await send(request)).status_code == httpx2.codes.OK
        except McpServerError as trouble:
            log.warning("%s was not told to forget our sign-in: it %s", self.server, trouble.why)
            return False

    def _record_refusal(self, challenge: str, because: _SignInLapse | _RenewalDelay) -> None:
        """The first reason stays while a connection ends, because the others follow from it."""
        if challenge or self._refusal is None:
            self._challenge = Challenge(challenge)
        if self._refusal is None or not isinstance(self._refusal.reason, _SignInLapse):
            self._refusal = _AuthorizationRefusal(self._challenge, because)
        if isinstance(because, _SignInLapse):
            self._rejected_token = self._record.access_token or self._rejected_token
            self._set_record(replace(self._record, tokens=None))

    async def _renew(self) -> _RenewalResult:
        """Whoever holds the turn. The caller may leave; the renewal goes on, or its token would be lost with it."""
        with anyio.move_on_after(_RENEWAL_TIMEOUT_S, shield=True):
            return await self._try_renewal()
        return _RenewalDelay("wants its sign-in renewed, and that took too long")

    async def _try_renewal(self) -> _RenewalResult:
        ours = self._record
        kept = await self._load(ours.url)
        if kept.tokens is not None and kept.access_token not in (ours.access_token, self._rejected_token):
            self._adopt(kept)  # another process was faster
            if not self._ends_soon():
                return _RenewalSuccess()
            ours = kept
        if ours.tokens is None:
            return _SignInLapse(self.problem or "")
        if ours.tokens.refresh_token is None or ours.client is None:
            return _SignInLapse("the last sign-in has run out")
        client = OAuthClient(ours, self._oauth)
        try:
            async with open_sender(ours.url) as send:
                answer = await send(await client.renewal_request(ours))
        except McpServerError as trouble:
            return _RenewalDelay(trouble.why)
        if answer.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR or answer.status_code in _TRANSIENT_STATUSES:
            return _RenewalDelay(f"wants its sign-in renewed, and was answered HTTP {answer.status_code}")
        tokens = await client.parse_renewal(answer)
        if tokens is None:
            return await self._handle_refused_renewal(ours, error_code(answer) or f"HTTP {answer.status_code}")
        await self._accept_tokens(ours, tokens)
        return _RenewalSuccess()

    async def _accept_tokens(self, ours: SignInRecord, tokens: OAuthToken) -> None:
        self._renewed_at = anyio.current_time()
        fresh = replace(ours, tokens=tokens, expires_at=expiry_of(tokens, self._clock()))
        self._adopt(fresh)
        try:
            await self._store.save(fresh)
        except SecretsUnavailable as error:
            log.warning("The renewed sign-in to %s is not kept beyond this process: %s", self.server, error)

    async def _handle_refused_renewal(self, ours: SignInRecord, code: str) -> _RenewalResult:
        """Of two who renew with one token at once the slower one is refused: then the store has the faster one's."""
        kept = await self._load(ours.url)
        if kept.tokens is not None and kept.access_token not in (ours.access_token, self._rejected_token):
            self._adopt(kept)
            return _RenewalSuccess()
        # A client that is unknown there must be registered anew.
        gone = code in ("invalid_client", "unauthorized_client")
        try:
            await self._store.save(replace(ours, tokens=None, client=None if gone else ours.client))
        except SecretsUnavailable as error:
            log.warning("The sign-in to %s has run out, and that is not kept: %s", self.server, error)
        return _SignInLapse(f"the last sign-in was not renewed ({code})")

    async def _load(self, url: str) -> SignInRecord:
        """What nobody can read counts as nothing; that is told beside the link. A store that is away has no news."""
        try:
            found = await self._store.load(url)
        except SecretsUnavailable as error:
            if not self._is_store_unavailable:
                log.warning("What is kept of the sign-in to %s cannot be read: %s", self.server, error)
            self._is_store_unavailable = True
            return self._record if self._record.url == url else SignInRecord(url)
        self._is_store_unavailable = False
        if isinstance(found, UnreadableSecret):
            self.problem = found.why
            return SignInRecord(url)
        return found

    async def _save(self, record: SignInRecord) -> None:
        try:
            await self._store.save(record)
        except SecretsUnavailable as error:
            raise McpServerError(f"was not signed in to, because that cannot be kept: {error}") from error

    def _set_record(self, record: SignInRecord) -> None:
        self._record, token = record, record.access_token
        self.headers: Mapping[str, str] = {} if token is None else {"Authorization": f"Bearer {token}"}

    def _adopt(self, record: SignInRecord) -> None:
        self._set_record(record)
        tokens, client = record.tokens, record.client
        secret = (
            *(() if tokens is None else (tokens.access_token, tokens.refresh_token)),
            *(() if client is None else (client.client_secret,)),
        )
        self.erase = SecretFilter(text for text in secret if text)

    def _ends_soon(self) -> bool:
        lasts = self._seconds_until_renewal()
        return lasts is not None and lasts <= 0

    def _seconds_until_renewal(self) -> float | None:
        """Seconds until the tokens should be renewed. None for tokens without an end, or that cannot be renewed."""
        record = self._record
        if record.tokens is None or record.expires_at is None or record.tokens.refresh_token is None:
            return None
        margin = min(_RENEWAL_MARGIN, timedelta(seconds=(record.tokens.expires_in or 0) / 5))
        return max(0.0, (record.expires_at - margin - self._clock()).total_seconds())


def _public_url(url: str) -> str:
    """Without what may be a key: the address is told to authorization servers. Empty for what is no address."""
    try:
        return str(httpx2.URL(url).copy_with(query=None, fragment=None, userinfo=b""))
    except httpx2.InvalidURL:
        return ""
