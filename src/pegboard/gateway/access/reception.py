"""The reception of the operator's side: who a request comes from, and how a browser signs in and out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pegboard.core.scope import Scope

from .attempts import Attempts, too_many
from .keys import Keys, hashed
from .login_links import PARAMETER, LoginLinks
from .origin import is_own, own_origin
from .proxies import Proxies
from .visit_keeping import VisitKeeping
from .visits import LONGEST, Visits
from .who import Who

Pairs: TypeAlias = Sequence[tuple[bytes, bytes]]

UNKNOWN: Final = (
    "This is the operator's API. Send the start-up token from gateway.json in the data directory "
    "as Authorization: Bearer TOKEN."
)
WRONG: Final = "This gateway knows no such token. It may have been revoked, or have expired, or be another gateway's."
USED_LINK: Final = (
    "This address was used before, or is too old: it signs in once. For a new one, run on the gateway's machine: "
    "pegboard ui"
)
NO_TOKENS_IN_ADDRESSES: Final = "A token is not taken from an address. Paste it here."
FOREIGN: Final = (
    "Another page made this request with your browser's cookie. Only pages of the gateway itself may do that; "
    "whoever else wants to sends a token as Authorization: Bearer TOKEN."
)
SIGNED_OUT: Final = "You are signed out, or were for too long without a look at the board. Sign in again."
NOT_FOR_PAGES: Final = (
    "This token is for calling tools, at /mcp. To look at the board it takes one with the scope read, operate or admin."
)


@dataclass(frozen=True)
class Turned:
    """Turned away, and why."""

    status: int
    why: str
    retry_after: int | None = None


@dataclass(frozen=True)
class Cookie:
    """Named after the port, because a browser sends the cookies of all ports of a machine to each of them."""

    name: str
    secure: bool

    def setting(self, secret: str) -> str:
        return self._line(secret, int(LONGEST))

    def clearing(self) -> str:
        return self._line("", 0)

    def _line(self, value: str, age: int) -> str:
        secure = "; Secure" if self.secure else ""
        return f"{self.name}={value}; Max-Age={age}; Path=/; HttpOnly; SameSite=Strict{secure}"


@dataclass(frozen=True)
class Reception:
    keys: Keys
    port: int = 0
    public: str | None = None
    """The URL by which people's browsers reach the gateway, if not where it listens."""
    proxies: Proxies = field(default_factory=Proxies)
    attempts: Attempts = field(default_factory=Attempts)
    visits: Visits = field(default_factory=Visits)
    keeping: VisitKeeping | None = None
    """Of these visits, beyond the end of this run."""
    links: LoginLinks = field(default_factory=LoginLinks)

    def __post_init__(self) -> None:
        self.visits.start_up = self.keys.start_up

    def who(self, method: str, headers: Pairs, peer: str) -> Who | Turned:
        """By its token; without one by its visit, for which a browser must tell that no other page made it ask."""
        shown = [value for name, value in headers if name == b"authorization"]
        if len(shown) > 1:
            return Turned(400, "The header authorization is given more than once. Send it once.")
        if shown:
            scheme, _, token = shown[0].decode("latin-1").strip(" \t").partition(" ")
            found = self.keys.holder(token.strip(" \t")) if scheme.lower() == "bearer" else None
            return self._failed(peer, headers, UNKNOWN) if found is None else found
        secret = self.secret_of(headers)
        if secret is None:
            return Turned(401, UNKNOWN)
        if not self.is_own(method, headers, peer):
            return Turned(403, FOREIGN)
        digest = self.visits.token_of(secret, self.keys.known())
        visitor = None if digest is None else self.keys.holder_by(digest)
        if visitor is None:
            self.visits.end(secret)
            return Turned(401, SIGNED_OUT)
        return visitor

    def stays(self, who: Who, headers: Pairs) -> bool:
        """Whether whoever came in so would still be let in, by the token or by the visit."""
        if not any(name == b"authorization" for name, _ in headers):
            secret = self.secret_of(headers)
            if secret is None or not self.visits.lasts(secret):
                return False
        now = self.keys.holder_by(who.digest)
        return now is not None and now.scopes >= who.scopes

    def sign_in(self, token: str, headers: Pairs, peer: str) -> str | Turned:
        """The secret of a new visit. The one that the browser had ends."""
        found = self.keys.holder(token.strip())
        if found is None:
            return self._failed(peer, headers, WRONG)
        if Scope.READ not in found.scopes:
            return Turned(403, NOT_FOR_PAGES)
        self.sign_out(headers)
        return self.visits.begin(hashed(token.strip()))

    def login_path(self) -> str:
        """An address of the web UI that signs a browser in as the operator of this machine, once."""
        return f"/ui/?{PARAMETER}={self.links.mint()}"

    def sign_in_by_link(self, code: str, headers: Pairs, peer: str) -> str | Turned:
        """The secret of a new session of the start-up token. The code is used up."""
        if not self.links.redeem(code):
            return self._failed(peer, headers, USED_LINK)
        self.sign_out(headers)
        return self.visits.begin(self.keys.start_up)

    def session_of(self, headers: Pairs) -> Who | None:
        """Whose session the browser shows with its cookie, if it lasts."""
        secret = self.secret_of(headers)
        digest = None if secret is None else self.visits.token_of(secret, self.keys.known())
        return None if digest is None else self.keys.holder_by(digest)

    def sign_out(self, headers: Pairs) -> None:
        secret = self.secret_of(headers)
        if secret is not None:
            self.visits.end(secret)

    async def settle(self) -> None:
        """Written down: whoever signed out stays so, whatever becomes of this run."""
        if self.keeping is not None:
            await self.keeping.write()

    async def sign_out_all(self) -> None:
        """Raises `StoreAway`."""
        if self.keeping is None:
            self.visits.end_all()
        else:
            await self.keeping.end_all()

    def cookie(self, headers: Pairs, peer: str) -> Cookie:
        """A browser that speaks TLS keeps its cookie from everything that does not."""
        if self._own_origin(headers, peer).startswith("https:"):
            return Cookie(f"__Host-pegboard_{self.port}", secure=True)
        return Cookie(f"pegboard_{self.port}", secure=False)

    def is_own(self, method: str, headers: Pairs, peer: str) -> bool:
        """Whether a page of the gateway's own made this request, or nobody's page."""
        return is_own(method, dict(headers), self._own_origin(headers, peer))

    def is_from_elsewhere(self, method: str, headers: Pairs, peer: str) -> bool:
        """Whether a browser says that the page of somebody else made this request."""
        said = {name for name, _ in headers} & {b"origin", b"sec-fetch-site"}
        return bool(said) and not self.is_own(method, headers, peer)

    def secret_of(self, headers: Pairs) -> str | None:
        """A cookie that came twice is none: another port of this machine may have put one of the two there."""
        names = (f"__Host-pegboard_{self.port}", f"pegboard_{self.port}")
        found = [value for name, value in _cookies(headers) if name in names]
        return found[0] if len(found) == 1 and found[0] else None

    def _own_origin(self, headers: Pairs, peer: str) -> str:
        host = dict(headers).get(b"host", b"").decode("latin-1")
        return own_origin(host, self.public, https=self.proxies.https(peer, headers))

    def _failed(self, peer: str, headers: Pairs, why: str) -> Turned:
        wait = self.attempts.failed(self.proxies.client(peer, headers))
        return Turned(401, why) if wait is None else Turned(429, too_many(wait), wait)


def _cookies(headers: Pairs) -> Iterable[tuple[str, str]]:
    for name, line in headers:
        if name == b"cookie":
            for part in line.decode("latin-1").split(";"):
                key, _, value = part.partition("=")
                yield key.strip(), value.strip()
