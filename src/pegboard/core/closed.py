"""What of a toolset is not open on a board, and why: told when it is imported, by the resolver that decides."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from .catalogue import Catalogue, Listing, ProviderAsleep, build_catalogue
from .ids import ProviderKey, ServerKey, ToolId
from .imported import InstallToolset
from .policy import Policy
from .removal import explain_hidden, hidden_remedy
from .resolve import HiddenTool, LockedTool, OpenTool, Verdict, resolve
from .status import LockStatus, OwnerOff, ServerInQuarantine, explain_reason, remedy_for
from .tool import Tool, ToolSpec
from .view import View


@dataclass(frozen=True)
class LockedPart:
    """A tool; or a server whose tools nobody knows yet, and of which none would be open."""

    about: ToolId | ServerKey
    status: LockStatus | None
    """`None` where it is absent from the view, and not locked."""
    sentence: str
    remedy: str


def locked_after_install(
    known: Catalogue, policy: Policy, install: InstallToolset, view: View, at: datetime
) -> tuple[LockedPart, ...]:
    """In a policy that has it. What runs it is taken to be at rest: that it starts just now is no reason to tell, and a
    call starts it."""
    own = tuple(Tool(id, spec) for id, spec in install.specs.items())
    listed = {server.key: known.listings.get(server.key) for server in install.servers}
    tools: dict[ProviderKey, tuple[Tool, ...]] = {
        key: () if word is None else word.tools for key, word in listed.items() if isinstance(key, ServerKey)
    }
    silent = {key for key, some in tools.items() if not some}
    tools |= {key: (_placeholder_tool(key),) for key in silent if isinstance(key, ServerKey)}
    tools |= {key: own for key in listed if not isinstance(key, ServerKey)}
    resting = [Listing(key, ProviderAsleep(at), some) for key, some in tools.items()]
    verdicts = resolve(build_catalogue((*known.listings.values(), *resting)), policy, view).verdicts
    mine = [(tool.id, verdicts[tool.id]) for some in tools.values() for tool in some]
    return tuple(found for id, verdict in mine for found in _describe_verdict(id, verdict, id.source in silent))


def _placeholder_tool(key: ServerKey) -> Tool:
    """In the place of tools that nobody knows yet: what holds of it holds of all of them."""
    return Tool(ToolId(key, "*"), ToolSpec("*", None, "", {}))


def _describe_verdict(id: ToolId, verdict: Verdict, is_any: bool) -> Iterator[LockedPart]:
    about = id.source if is_any and isinstance(id.source, ServerKey) else id
    match verdict:
        case HiddenTool(_, removed):
            yield LockedPart(about, None, explain_hidden(removed), hidden_remedy(removed, id))
        case LockedTool(_, reason) if not is_any or isinstance(reason, OwnerOff | ServerInQuarantine):
            yield LockedPart(about, verdict.status, explain_reason(reason), remedy_for(reason))
        case LockedTool() | OpenTool():
            return
