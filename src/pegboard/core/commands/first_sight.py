"""Which servers should run, and what the first tool list of a server approves."""

from collections.abc import Iterable, Mapping

from pegboard.core.commands.commands import TakeBaseline
from pegboard.core.decision.facts import find_owner_off
from pegboard.core.model.catalogue import Listing, has_listed
from pegboard.core.model.ids import BuiltinKey, ProviderKey, ToolId
from pegboard.core.model.server import Connection, ProtocolMode, Server, StartPolicy, Timeouts
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import NO_OVERRIDES, OverrideIndex, with_manifest_texts
from pegboard.core.policy.policy import Policy


def servers_to_run(policy: Policy) -> Mapping[ProviderKey, Server]:
    """Switched on, in a toolset that is on, reviewed, and with no unreadable row about all of it: a program that nobody
    has reviewed is never started, nor one that somebody may have switched off."""
    return {
        key: server
        for key, server in policy.servers.items()
        if not server.quarantined
        and find_owner_off(key, policy) is None
        and policy.decisions.unreadable_index.row_stopping(key) is None
    }


def connection_settings(server: Server) -> tuple[Connection, Timeouts, StartPolicy, ProtocolMode]:
    """All that a provider is made from: another trust, or a line further down in the file, restarts nothing."""
    return server.connection, server.timeouts, server.starts, server.protocol


def awaits_first_sight(listing: Listing, policy: Policy) -> bool:
    """Whether this is the first answer of a server whose trust is baseline."""
    key = listing.source
    if isinstance(key, BuiltinKey) or not has_listed(listing):
        return False
    server = policy.servers.get(key)
    return server is not None and policy.awaits_first_sight(server)


def first_sight_command(listing: Listing, policy: Policy, others: Iterable[Tool] = ()) -> TakeBaseline | None:
    """What to record then. A tool that looks poisoned is left out, so that a person must approve it; `others` are the
    tools of the board, whose names it may be trying to shadow. Scanning takes about a third of a millisecond a tool."""
    key = listing.source
    if isinstance(key, BuiltinKey) or not awaits_first_sight(listing, policy):
        return None
    specs = {tool.id: tool.spec for tool in listing.tools}
    said = OverrideIndex(policy.decisions.manifest_overrides)
    return TakeBaseline(key, {id: specs[id] for id in clean_specs(key, specs, others, said)})


def clean_specs(
    key: ProviderKey, specs: Mapping[ToolId, ToolSpec], others: Iterable[Tool], said: OverrideIndex = NO_OVERRIDES
) -> tuple[ToolId, ...]:
    """Those that do not look poisoned, neither by themselves nor in the words of their toolset's manifest."""
    # Its words and phrases take two megabytes, and who trusts its servers openly, or knows them all, needs none.
    from pegboard.core.scan.findings import is_poisoned
    from pegboard.core.scan.imitations import other_tools
    from pegboard.core.scan.scanner import scan_tool

    theirs = other_tools(key, others)

    def is_sound(id: ToolId, spec: ToolSpec) -> bool:
        shown = with_manifest_texts(id, spec, said)
        return not is_poisoned(scan_tool(spec, theirs)) and (shown is spec or not is_poisoned(scan_tool(shown, theirs)))

    return tuple(id for id, spec in specs.items() if is_sound(id, spec))
