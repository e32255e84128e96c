"""A person who signs in, as these tests play them: from the link that they ask for to the page at the end."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
from tests.providers.mcp.running import KEY, PATIENCE, Watched, running
from tests.providers.mcp.web import Endpoint, served
from tests.servers.guarded import Guarded
from tests.support.doubles import MemorySecrets

from pegboard.core.model.catalogue import ProviderNeedsSignIn
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.server import Http, NoOAuth, OAuth, Transport
from pegboard.ports.providers import CompletedSignIn, SignInUnavailable
from pegboard.providers.mcp.oauth.sign_in import SignInService, open_sign_in_service

BASE = "http://127.0.0.1:8460"
ANN = PrincipalId("ann")
"""Who asks for links here."""


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Person:
    """`desk` is where they go, `watched` the board they look at."""

    desk: SignInService
    watched: Watched

    async def needed(self) -> ProviderNeedsSignIn:
        listing = await self.watched.until(lambda listing: isinstance(listing.health, ProviderNeedsSignIn))
        assert isinstance(listing.health, ProviderNeedsSignIn)
        return listing.health

    async def link(self) -> str:
        await self.needed()
        link = self.desk.create_link(KEY, ANN)
        assert isinstance(link, str), link
        return link

    async def follows(self, link: str) -> CompletedSignIn | SignInUnavailable:
        """The whole way."""
        with anyio.fail_after(PATIENCE):
            sent = await self.desk.begin(link.rpartition("/")[2])
            if isinstance(sent, SignInUnavailable):
                return sent
            return await self.desk.finish(await consents(sent.url), sent.mark)

    async def signs_in(self) -> CompletedSignIn | SignInUnavailable:
        return await self.follows(await self.link())

    async def comes_in(self) -> None:
        done = await self.signs_in()
        assert isinstance(done, CompletedSignIn), done
        await self.watched.up()


async def consents(url: str) -> dict[str, str]:
    """At the authorization server's own page: what it sends the person back with."""
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as browser:
        page = await browser.get(url)
    assert page.status_code == 302, page.text
    assert urlsplit(page.headers["location"]).path == "/sign-in/callback"
    return dict(parse_qsl(urlsplit(page.headers["location"]).query))


@asynccontextmanager
async def asking(
    guard: Guarded,
    secrets: MemorySecrets | None = None,
    *,
    transport: Transport = Transport.STREAMABLE_HTTP,
    oauth: OAuth | NoOAuth | None = None,
    headers: dict[str, str] | None = None,
) -> AsyncIterator[Person]:
    """A guarded server, and a provider that wants to connect to it."""
    async with served(guard) as http:
        declared = Http(http.url, transport, headers or {}, oauth or OAuth())
        async with process(declared, secrets or MemorySecrets()) as person:
            yield person


@asynccontextmanager
async def process(declared: Http, secrets: MemorySecrets) -> AsyncIterator[Person]:
    """One gateway's provider and desk; several may share what is kept."""
    async with open_sign_in_service(secrets, now) as desk:
        desk.set_base_url(BASE)
        async with running(declared, desk=desk) as watched:
            yield Person(desk, watched)


def guarded(**knobs: object) -> Guarded:
    guard = Guarded(Endpoint())
    for name, value in knobs.items():
        assert hasattr(guard, name), name
        setattr(guard, name, value)
    return guard


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what it waits for is at the other end of a wire
            await anyio.sleep(0.01)
