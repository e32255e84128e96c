"""What people wrote that is about no tool at all: a slip of the pen, and a restriction that restricts nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from .catalogue import Catalogue, has_listed
from .ids import ProviderKey, ServerKey
from .policy import Policy
from .reference import closest
from .rules import means
from .server import AllButTools, DeclaredAt, EveryTool, OnlyTools, Origin, ToolLimit


@dataclass(frozen=True)
class InVain:
    """An entry of a server's `enabled_tools` or `disabled_tools` that fits none of the tools it lists."""

    server: ProviderKey
    key: str
    text: str
    at: Origin
    near: tuple[str, ...]

    def __str__(self) -> str:
        owner = "server" if isinstance(self.server, ServerKey) else "toolset"
        hint = f" Did you mean {' or '.join(repr(name) for name in self.near)}?" if self.near else ""
        return f"{self.key} of {self.server} ({self.at}) names {self.text!r}, and the {owner} lists no such tool.{hint}"


def in_vain(catalogue: Catalogue, policy: Policy) -> Iterator[InVain]:
    """Only of servers that have listed their tools: of the others nobody knows what they would list."""
    for key, server in policy.servers.items():
        listing = catalogue.listings.get(key)
        if listing is None or not has_listed(listing):
            continue
        ids = [tool.id for tool in listing.tools]
        word, names, at = _entries(server.limit)
        for name in names:
            if not any(means(name, id) for id in ids):
                near = closest(name.rpartition(":")[2], (id.name for id in ids))
                yield InVain(key, word, name, at or server.origin, near)


def _entries(limit: ToolLimit) -> tuple[str, tuple[str, ...], DeclaredAt | None]:
    match limit:
        case EveryTool():
            return "", (), None
        case OnlyTools(names, at):
            return "enabled_tools", names, at
        case AllButTools(names, at):
            return "disabled_tools", names, at
        case _:
            assert_never(limit)
