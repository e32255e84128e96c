"""Reverse proxies that the operator declared: their word on who asks is taken, and nobody else's."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

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
