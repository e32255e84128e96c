"""Limits failed sign-ins per address, and reads the client address behind declared proxies."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

# Wrong tokens, counted by the address that sent them: guessing is slow, and nobody who is right is shut out by it.

WINDOW_S: Final = 60.0
MAX_FAILURES: Final = 20
"""Wrong tokens from one address within a window that are answered one by one."""
MAX_ADDRESSES: Final = 4_096

log = logging.getLogger(__name__)

Now: TypeAlias = Callable[[], float]


@dataclass
class _Failures:
    since: float
    count: int = 0


class FailedAttempts:
    """One for every door of a gateway: whoever guesses has as many guesses at all of them together as at one."""

    def __init__(self, now: Now = time.monotonic) -> None:
        self._now = now
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def record_failure(self, address: str) -> int | None:
        """Seconds to wait, once there were too many. Only for what was wrong: a right token always comes in, because
        behind a proxy all have one address, and a stranger must not be able to shut the others out."""
        now = self._now()
        failures = self._failures.get(address)
        if failures is None or now - failures.since >= WINDOW_S:
            failures = self._failures[address] = _Failures(now)
            self._failures.move_to_end(address)
            if len(self._failures) > MAX_ADDRESSES:
                self._failures.popitem(last=False)
        failures.count += 1
        if failures.count <= MAX_FAILURES:
            return None
        if failures.count == MAX_FAILURES + 1:
            log.warning("More than %d wrong tokens within a minute from %s", MAX_FAILURES, address or "one address")
        return max(1, round(failures.since + WINDOW_S - now))


def too_many_attempts_message(wait: int) -> str:
    return f"Too many wrong tokens came from your address. Try again in {wait} seconds, with a token that is right."


Network: TypeAlias = IPv4Network | IPv6Network
HeaderPairs: TypeAlias = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class TrustedProxies:
    networks: tuple[Network, ...] = ()

    def client_address(self, peer: str, headers: HeaderPairs) -> str:
        """The address a request comes from: of those that proxies wrote down, the last that is no proxy's own.

        What stands before it was written by that client, and may be anything.
        """
        if not self._contains(peer):
            return peer
        nearest = peer
        for hop in reversed(_values(headers, b"x-forwarded-for")):
            if _address(hop) is None:
                break
            nearest = hop
            if not self._contains(hop):
                break
        return nearest

    def is_https(self, peer: str, headers: HeaderPairs) -> bool:
        """Whether the browser speaks TLS to the proxy."""
        said = _values(headers, b"x-forwarded-proto") if self._contains(peer) else []
        return bool(said) and said[-1].lower() == "https"

    def _contains(self, text: str) -> bool:
        if not self.networks:
            return False
        address = _address(text)
        return address is not None and any(address in network for network in self.networks)


def _values(headers: HeaderPairs, wanted: bytes) -> list[str]:
    return [
        part.strip() for name, value in headers if name == wanted for part in value.decode("latin-1").split(",") if part
    ]


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped
