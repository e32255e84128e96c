"""How many connections may be open: for each address, and in all, so that descriptors stay free for the gateway itself.

A connection that waits (nothing asked, a request that is not whole, everything answered) gives way to a newer one. One
that is being answered never does.
"""

import sys
from collections import Counter
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, Protocol

from pegboard.config.keys.access import MAX_WAITING

_MIN_RESERVED_DESCRIPTORS: Final = 64
_UNLIMITED_DESCRIPTORS: Final = 100_000


class LimitedConnection(Protocol):
    """What a connection says of itself."""

    @property
    def address(self) -> str: ...

    @property
    def last_received_at(self) -> float:
        """When its client last sent anything."""
        ...

    def is_waiting(self) -> bool: ...

    def evict(self) -> None:
        """Close, with a word to a client that is within a request."""
        ...


def max_connections() -> int:
    """A quarter of the descriptors of this process is kept for files, databases, servers and their pipes."""
    if sys.platform == "win32":
        return _UNLIMITED_DESCRIPTORS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft > _UNLIMITED_DESCRIPTORS:
        return _UNLIMITED_DESCRIPTORS
    return max(1, soft - max(soft // 4, _MIN_RESERVED_DESCRIPTORS))


def network_of(address: str) -> str:
    """What counts as one address: of IPv6 a /64, which one machine has all of."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip_network((known, 64), strict=False)) if isinstance(known, IPv6Address) else address


class ConnectionLimits:
    """Shared by all connections of one listener."""

    def __init__(self, per_address: int = MAX_WAITING, total: int | None = None) -> None:
        self.total: Final = max_connections() if total is None else total
        self.per_address: Final = per_address
        self._open: dict[LimitedConnection, str] = {}
        self._by_address: Counter[str] = Counter()

    def admit(self, connection: LimitedConnection) -> bool:
        """Whether there is room for it, if need be that of one that waits."""
        network = network_of(connection.address)
        if self._by_address[network] >= self.per_address:
            own = self._waiting_connections(network)
            if len(own) >= self.per_address:
                self._evict(own)
        if len(self._open) >= self.total:
            waiting = self._waiting_connections()
            if not waiting:
                return False
            # Of the address that keeps most of them waiting.
            held = Counter(self._open[each] for each in waiting)
            most = max(held.values())
            self._evict([each for each in waiting if held[self._open[each]] == most])
        self._open[connection] = network
        self._by_address[network] += 1
        return True

    def remove(self, connection: LimitedConnection) -> None:
        network = self._open.pop(connection, None)
        if network is None:
            return
        self._by_address[network] -= 1
        if not self._by_address[network]:
            del self._by_address[network]

    def _waiting_connections(self, network: str | None = None) -> list[LimitedConnection]:
        return [each for each, own in self._open.items() if network in (None, own) and each.is_waiting()]

    def _evict(self, waiting: list[LimitedConnection]) -> None:
        """The one that was silent for longest."""
        oldest = min(waiting, key=lambda each: each.last_received_at)
        self.remove(oldest)
        oldest.evict()
