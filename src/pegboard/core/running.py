"""Which servers should run, and what their first sight means: decided here, so that nothing outside decides it."""

from collections.abc import Mapping

from .catalogue import Listing, Up
from .commands import TakeBaseline
from .ids import ServerKey
from .policy import Policy
from .rules import owner_off
from .server import Server, Trust


def wanted(policy: Policy) -> Mapping[ServerKey, Server]:
    """Switched on, in a toolset that is on, and reviewed: a program that nobody has reviewed is never started."""
    return {
        key: server
        for key, server in policy.servers.items()
        if not server.quarantined and owner_off(key, policy) is None
    }


def first_sight(listing: Listing, policy: Policy) -> TakeBaseline | None:
    """What to record when a server answers for the first time and its trust is baseline."""
    key = listing.source
    if not isinstance(key, ServerKey) or not isinstance(listing.health, Up):
        return None
    server = policy.servers.get(key)
    if server is None or server.quarantined or policy.trust(server) is not Trust.BASELINE:
        return None
    if key in policy.decided.baselined:
        return None
    return TakeBaseline(key, {tool.id: tool.spec for tool in listing.tools})
