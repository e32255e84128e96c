"""Boards of any size, made the same way each time: servers of a hundred tools, approvals, switches, deny patterns."""

from dataclasses import dataclass
from datetime import UTC, datetime

from pegboard.core.model.catalogue import Catalogue, Listing, ProviderUp, build_catalogue
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt, Http, Server
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import Approval, DeclaredSettings, Denial, Policy, PolicyDecisions, Switch

TOOLS_PER_SERVER = 100
THEN = datetime(2026, 1, 1, tzinfo=UTC)
WRITTEN = DeclaredAt("pegboard.yaml", 1)
DENIED_NAMES = tuple(f"*forbidden_{number}*" for number in range(20))


@dataclass(frozen=True, slots=True)
class SampleBoard:
    """All that a decision needs: what is there, and what was decided about it."""

    listings: tuple[Listing, ...]
    policy: Policy

    @property
    def catalogue(self) -> Catalogue:
        """A new one each time, which has remembered nothing yet."""
        return build_catalogue(self.listings)


def board_of(tools: int) -> SampleBoard:
    """Every tool is approved, every tenth is switched off, and some of the rest fit one of twenty deny patterns."""
    sizes = [TOOLS_PER_SERVER] * (tools // TOOLS_PER_SERVER)
    if tools % TOOLS_PER_SERVER:
        sizes.append(tools % TOOLS_PER_SERVER)
    listings = tuple(listing_of(number, size) for number, size in enumerate(sizes))
    everything = [tool for listing in listings for tool in listing.tools]
    keys = [listing.source for listing in listings if isinstance(listing.source, ServerKey)]
    declared = DeclaredSettings(
        servers={key: Server(key, Http("http://127.0.0.1:1/mcp"), WRITTEN) for key in keys},
        toolsets={key.toolset: Toolset(key.toolset, WRITTEN) for key in keys},
        denials=tuple(Denial(Pattern("*", name), WRITTEN) for name in DENIED_NAMES),
    )
    decided = PolicyDecisions(
        switches={tool.id: Switch(False, LOCAL_PRINCIPAL, THEN) for tool in everything[::10]},
        approvals={tool.id: Approval(tool.spec, LOCAL_PRINCIPAL, THEN) for tool in everything},
    )
    return SampleBoard(listings, Policy(declared, decided))


def listing_of(server: int, tools: int) -> Listing:
    """One server's list, of new tools that nobody has taken a fingerprint of."""
    key = ServerKey(ToolsetId(f"set{server}"), ServerId(f"server{server}"))
    return Listing(key, ProviderUp(THEN), tuple(_tool(key, server, number) for number in range(tools)))


def _tool(key: ServerKey, server: int, number: int) -> Tool:
    # A name that no two servers share, except for one tool in twenty, as boards of many servers have it.
    name = f"find_{number}" if number % 20 == 19 else f"find_{server}_{number}"
    if number % 50 == 7:
        name += f"_forbidden_{number % len(DENIED_NAMES)}"
    spec = ToolSpec(
        name,
        description=f"Finds record {number} of register {server} by what it says.",
        input_schema={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    )
    return Tool(ToolId(key, name), spec)
