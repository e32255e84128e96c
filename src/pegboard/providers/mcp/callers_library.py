"""What a server with callers of its own offers beside tools: asked in each caller's name, followed in nobody's."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from pegboard.core.ask import ResourceAnswer, ResourceFailure, RoutedRequest
from pegboard.core.offer import PromptEntry, ProviderResources, ResourceEntry, ResourceTemplate
from pegboard.ports import ClientPeer, Progress, ResourceCallback, ResourceProvider


class CallerConnection(Protocol):
    """One caller's own connection, kept open within `used`."""

    @property
    def resources(self) -> ResourceProvider: ...

    def in_use(self) -> AbstractContextManager[None]: ...


class CallerResources:
    """`borrow` finds the connection of the caller with these headers, or says why there is none.

    A subscription only says that there is something to read anew, and serves all who follow: it is made on the `front`,
    the connection in nobody's name. What there is to read is then asked for by each caller.
    """

    def __init__(
        self, front: ResourceProvider, borrow: Callable[[Mapping[bytes, bytes]], CallerConnection | ResourceFailure]
    ) -> None:
        self._anonymous = front
        self._connection_for = borrow

    async def request(
        self, directed: RoutedRequest, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> ResourceAnswer:
        borrowed = self._connection_for(directed.headers)
        if isinstance(borrowed, ResourceFailure):
            return borrowed
        with borrowed.in_use():
            return await borrowed.resources.request(directed, progress, peer)

    async def subscribe(self, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        return await self._anonymous.subscribe(uri, updated)

    async def unsubscribe(self, uri: str) -> None:
        await self._anonymous.unsubscribe(uri)


def merge_offers(lists: Iterable[ProviderResources]) -> ProviderResources:
    """What callers were listed, of what several were the newest."""
    prompts: dict[str, PromptEntry] = {}
    resources: dict[str, ResourceEntry] = {}
    templates: dict[str, ResourceTemplate] = {}
    for each in lists:
        prompts |= {prompt.name: prompt for prompt in each.prompts}
        resources |= {resource.uri: resource for resource in each.resources}
        templates |= {template.pattern: template for template in each.templates}
    return ProviderResources(tuple(prompts.values()), tuple(resources.values()), tuple(templates.values()))
