"""Whether an IP address is public, private, loopback or reserved."""

from enum import Enum, auto
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_METADATA_ADDRESSES: Final = frozenset(
    {"100.100.100.200", "fd00:ec2::254", "192.0.0.192", "168.63.129.16", "fd20:ce::254"}
)
"""Where clouds answer their machines, beside the link-local addresses."""
_NAT64: Final = IPv6Network("64:ff9b::/96")
_SITE_LOCAL: Final = IPv6Network("fec0::/10")
"""Given up by RFC 3879, and still routed in some networks. Python takes it for global."""


class NetworkZone(Enum):
    PUBLIC = auto()
    PRIVATE_NETWORK = auto()
    """Private: the same address is another machine elsewhere."""
    THIS_MACHINE = auto()
    UNROUTABLE = auto()
    """Where nobody has business, whoever says so: link-local addresses, the metadata of clouds."""


def zone_of(address: Address) -> NetworkZone:
    if isinstance(address, IPv6Address):
        address = _unwrap_ipv4(address)
    if address.is_loopback:
        return NetworkZone.THIS_MACHINE
    if (
        str(address) in _METADATA_ADDRESSES
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
    ):
        return NetworkZone.UNROUTABLE
    if isinstance(address, IPv6Address) and address in _SITE_LOCAL:
        return NetworkZone.PRIVATE_NETWORK
    return NetworkZone.PUBLIC if address.is_global else NetworkZone.PRIVATE_NETWORK


def parse_ip_address(host: str) -> Address | None:
    """The address that a host is, where it is no name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def _unwrap_ipv4(address: IPv6Address) -> Address:
    """The address of the older kind that some of the newer stand for."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
