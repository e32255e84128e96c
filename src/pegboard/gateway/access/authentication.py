"""Authenticates operators: by API token or browser session; sign-in and sign-out of browsers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from pegboard.core.model.principals import TokenScope
from pegboard.gateway.access.attempts import FailedAttempts, TrustedProxies, too_many_attempts_message
from pegboard.gateway.access.sessions import LOGIN_PARAMETER, MAX_AGE_S, BrowserSessions, LoginLinks, SessionPersistence
from pegboard.gateway.access.tokens import Identity, TokenIndex, hash_token

# Whether a request that a browser made carries proof that a page of the gateway's own made it.
#
# A cookie is no such proof: it is sent for the pages of every other port of the same machine as well.

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


def is_same_origin(method: str, headers: Mapping[bytes, bytes], own: str) -> bool:
    """`own` is the origin under which the browser knows the gateway.

    Browsers say by themselves where a request comes from. One that says nothing may look, as whoever types an address
    does; its answers can be read by no other page.
    """
    said = headers.get(b"sec-fetch-site")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").strip().lower() != own:
        return False
    if said is not None:
        site = said.strip().lower()
        return site == b"same-origin" or (site == b"none" and method in SAFE_METHODS)
    return origin is not None or method in SAFE_METHODS


def own_origin(host: str, public: str | None, *, https: bool = False) -> str:
    """Under which origin a browser that sent this Host knows the gateway; `public` is the URL the operator named."""
    name = host.strip().lower()
    if public is not None:
        parts = urlsplit(public.lower())
        if _without_default(parts.netloc, parts.scheme) == _without_default(name, parts.scheme):
            return f"{parts.scheme}://{_without_default(parts.netloc, parts.scheme)}"
    scheme = "https" if https else "http"
    return f"{scheme}://{_without_default(name, scheme)}"


def _without_default(netloc: str, scheme: str) -> str:
    return netloc.removesuffix(":443" if scheme == "https" else ":80")


HeaderPairs: TypeAlias = Sequence[tuple[bytes, bytes]]

NO_CREDENTIALS: Final = (
    "This is the operator's API. Send the start-up token from gateway.json in the data directory "
    "as Authorization: Bearer TOKEN."
)
UNKNOWN_TOKEN: Final = (
    "This gateway knows no such token. It may have been revoked, or have expired, or be another gateway's."  # noqa: S105
)
USED_LINK: Final = (
    "This address was used before, or is too old: it signs in once. For a new one, run on the gateway's machine: "
    "pegboard ui"
)
NO_TOKENS_IN_ADDRESSES: Final = "A token is not taken from an address. Paste it here."
CROSS_SITE_REQUEST: Final = (
    "Another page made this request with your browser's cookie. Only pages of the gateway itself may do that; "
    "whoever else wants to sends a token as Authorization: Bearer TOKEN."
)
SIGNED_OUT: Final = "You are signed out, or were for too long without a look at the board. Sign in again."
CALL_TOKEN_IN_BROWSER: Final = (
    "This token is for calling tools, at /mcp. To look at the board it takes one with the scope read, operate or admin."  # noqa: S105
)


@dataclass(frozen=True)
class AuthRejection:
    """Turned away, and why."""

    status: int
    why: str
    retry_after: int | None = None


@dataclass(frozen=True)
class SessionCookie:
    """Named after the port, because a browser sends the cookies of all ports of a machine to each of them."""

    name: str
    secure: bool

    def set_header(self, secret: str) -> str:
        return self._header_value(secret, int(MAX_AGE_S))

    def clear_header(self) -> str:
        return self._header_value("", 0)

    def _header_value(self, value: str, age: int) -> str:
        secure = "; Secure" if self.secure else ""
        return f"{self.name}={value}; Max-Age={age}; Path=/; HttpOnly; SameSite=Strict{secure}"


@dataclass(frozen=True)
class OperatorAuthentication:
    tokens: TokenIndex
    port: int = 0
    public_url: str | None = None
    """The URL by which people's browsers reach the gateway, if not where it listens."""
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    attempts: FailedAttempts = field(default_factory=FailedAttempts)
    sessions: BrowserSessions = field(default_factory=BrowserSessions)
    session_persistence: SessionPersistence | None = None
    """Of these visits, beyond the end of this run."""
    login_links: LoginLinks = field(default_factory=LoginLinks)

    def __post_init__(self) -> None:
        self.sessions.startup_token_hash = self.tokens.startup_token_hash

    def authenticate(self, method: str, headers: HeaderPairs, peer: str) -> Identity | AuthRejection:
        """By its token; without one by its visit, for which a browser must tell that no other page made it ask."""
        shown = [value for name, value in headers if name == b"authorization"]
        if len(shown) > 1:
            return AuthRejection(400, "The header authorization is given more than once. Send it once.")
        if shown:
            scheme, _, token = shown[0].decode("latin-1").strip(" \t").partition(" ")
            found = self.tokens.identify(token.strip(" \t")) if scheme.lower() == "bearer" else None
            return self._reject(peer, headers, NO_CREDENTIALS) if found is None else found
        secret = self.session_secret(headers)
        if secret is None:
            return AuthRejection(401, NO_CREDENTIALS)
        if not self.is_same_origin(method, headers, peer):
            return AuthRejection(403, CROSS_SITE_REQUEST)
        digest = self.sessions.token_of(secret, self.tokens.all_hashes())
        visitor = None if digest is None else self.tokens.identify_by_hash(digest)
        if visitor is None:
            self.sessions.end(secret)
            return AuthRejection(401, SIGNED_OUT)
        return visitor

    def is_still_valid(self, who: Identity, headers: HeaderPairs) -> bool:
        """Whether whoever came in so would still be let in, by the token or by the visit."""
        if not any(name == b"authorization" for name, _ in headers):
            secret = self.session_secret(headers)
            if secret is None or not self.sessions.is_active(secret):
                return False
        now = self.tokens.identify_by_hash(who.digest)
        return now is not None and now.scopes >= who.scopes

    def sign_in(self, token: str, headers: HeaderPairs, peer: str) -> str | AuthRejection:
        """The secret of a new visit. The one that the browser had ends."""
        found = self.tokens.identify(token.strip())
        if found is None:
            return self._reject(peer, headers, UNKNOWN_TOKEN)
        if TokenScope.READ not in found.scopes:
            return AuthRejection(403, CALL_TOKEN_IN_BROWSER)
        self.sign_out(headers)
        return self.sessions.begin(hash_token(token.strip()))

    def login_path(self) -> str:
        """An address of the web UI that signs a browser in as the operator of this machine, once."""
        return f"/ui/?{LOGIN_PARAMETER}={self.login_links.mint()}"

    def sign_in_by_link(self, code: str, headers: HeaderPairs, peer: str) -> str | AuthRejection:
        """The secret of a new session of the start-up token. The code is used up."""
        if not self.login_links.redeem(code):
            return self._reject(peer, headers, USED_LINK)
        self.sign_out(headers)
        return self.sessions.begin(self.tokens.startup_token_hash)

    def session_identity(self, headers: HeaderPairs) -> Identity | None:
        """Whose session the browser shows with its cookie, if it lasts."""
        secret = self.session_secret(headers)
        digest = None if secret is None else self.sessions.token_of(secret, self.tokens.all_hashes())
        return None if digest is None else self.tokens.identify_by_hash(digest)

    def sign_out(self, headers: HeaderPairs) -> None:
        secret = self.session_secret(headers)
        if secret is not None:
            self.sessions.end(secret)

    async def save_sessions(self) -> None:
        """Written down: whoever signed out stays so, whatever becomes of this run."""
        if self.session_persistence is not None:
            await self.session_persistence.write()

    async def sign_out_all(self) -> None:
        """Raises `StoreUnavailable`."""
        if self.session_persistence is None:
            self.sessions.end_all()
        else:
            await self.session_persistence.end_all()

    def cookie(self, headers: HeaderPairs, peer: str) -> SessionCookie:
        """A browser that speaks TLS keeps its cookie from everything that does not."""
        if self._own_origin(headers, peer).startswith("https:"):
            return SessionCookie(f"__Host-pegboard_{self.port}", secure=True)
        return SessionCookie(f"pegboard_{self.port}", secure=False)

    def is_same_origin(self, method: str, headers: HeaderPairs, peer: str) -> bool:
        """Whether a page of the gateway's own made this request, or nobody's page."""
        return is_same_origin(method, dict(headers), self._own_origin(headers, peer))

    def is_cross_site(self, method: str, headers: HeaderPairs, peer: str) -> bool:
        """Whether a browser says that the page of somebody else made this request."""
        said = {name for name, _ in headers} & {b"origin", b"sec-fetch-site"}
        return bool(said) and not self.is_same_origin(method, headers, peer)

    def session_secret(self, headers: HeaderPairs) -> str | None:
        """A cookie that came twice is none: another port of this machine may have put one of the two there."""
        names = (f"__Host-pegboard_{self.port}", f"pegboard_{self.port}")
        found = [value for name, value in _cookies(headers) if name in names]
        return found[0] if len(found) == 1 and found[0] else None

    def _own_origin(self, headers: HeaderPairs, peer: str) -> str:
        host = dict(headers).get(b"host", b"").decode("latin-1")
        return own_origin(host, self.public_url, https=self.proxies.is_https(peer, headers))

    def _reject(self, peer: str, headers: HeaderPairs, why: str) -> AuthRejection:
        wait = self.attempts.record_failure(self.proxies.client_address(peer, headers))
        return AuthRejection(401, why) if wait is None else AuthRejection(429, too_many_attempts_message(wait), wait)


def _cookies(headers: HeaderPairs) -> Iterable[tuple[str, str]]:
    for name, line in headers:
        if name == b"cookie":
            for part in line.decode("latin-1").split(";"):
                key, _, value = part.partition("=")
                yield key.strip(), value.strip()
