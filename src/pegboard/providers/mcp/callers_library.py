"""What a server with callers of its own offers beside tools: asked in each caller's name, followed in nobody's."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from pegboard.core.ask import Answer, Directed, Failed
from pegboard.core.offer import Offers, Prompt, Resource, Template
from pegboard.ports import Library, Peer, Progress, Updated


class Borrowed(Protocol):
    """One caller's own connection, kept open within `used`."""

    @property
    def library(self) -> Library: ...

    def used(self) -> AbstractContextManager[None]: ...


class CallersLibrary:
    """`borrow` finds the connection of the caller with these headers, or says why there is none.

    A subscription only says that there is something to read anew, and serves all who follow: it is made on the `front`,
    the connection in nobody's name. What there is to read is then asked for by each caller.
    """

    def __init__(self, front: Library, borrow: Callable[[Mapping[bytes, bytes]], Borrowed | Failed]) -> None:
        self._front = front
        self._borrow = borrow

    async def ask(self, directed: Directed, progress: Progress | None = None, peer: Peer | None = None) -> Answer:
        borrowed = self._borrow(directed.headers)
        if isinstance(borrowed, Failed):
            return borrowed
        with borrowed.used():
            return await borrowed.library.ask(directed, progress, peer)

    async def subscribe(self, uri: str, updated: Updated) -> Answer:
        return await self._front.subscribe(uri, updated)

    async def unsubscribe(self, uri: str) -> None:
        await self._front.unsubscribe(uri)


def together(lists: Iterable[Offers]) -> Offers:
    """What callers were listed, of what several were the newest."""
    prompts: dict[str, Prompt] = {}
    resources: dict[str, Resource] = {}
    templates: dict[str, Template] = {}
    for each in lists:
        prompts |= {prompt.name: prompt for prompt in each.prompts}
        resources |= {resource.uri: resource for resource in each.resources}
        templates |= {template.pattern: template for template in each.templates}
    return Offers(tuple(prompts.values()), tuple(resources.values()), tuple(templates.values()))
