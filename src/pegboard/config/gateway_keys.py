"""The keys of `gateway`: who may reach it over HTTP, and how much they may ask at once."""

from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final

from pegboard.core import nesting
from pegboard.core.tool import JsonObject

from .section import ConfigKey, ConfigSection
from .shape import IntegerField, ListField, TextField, TextRule
from .telling import Invalid, ProblemCollector
from .tree import Node


@dataclass(frozen=True)
class NetworkField:
    """An address, or a network of them."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> str | Invalid:
        text = TextField().parse(node, at, tell)
        if isinstance(text, Invalid):
            return text
        try:
            return str(ip_network(text))
        except ValueError:
            told = f"{text[:60]!r} is no address and no network. Write 10.0.0.7 or 10.0.0.0/24, as the proxy connects."
            return tell.add_problem(node.line, at, told)

    def schema(self) -> JsonObject:
        return {"type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$"}


_HOST: Final = TextRule(
    r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?:[0-9]{1,5}|\*))?",
    "write a host, with a port or without, as a client's Host header has it: example.org:8460, or example.org:*",
)
_ORIGIN: Final = TextRule(
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?:[0-9]{1,5}|\*))?",
    "write an origin without a path, as a browser sends it: https://example.org, or http://localhost:*",
)

HOSTS: Final = ConfigKey(
    "allowed_hosts",
    ListField(TextField(_HOST)),
    "Host headers to answer beside those of this machine: example.org, example.org:8460, or example.org:* for any.",
)
ORIGINS: Final = ConfigKey(
    "allowed_origins",
    ListField(TextField(_ORIGIN)),
    "Origins whose pages may call the gateway from a browser: https://example.org, or http://localhost:* for any port.",
)

PROXIES: Final = ConfigKey(
    "trusted_proxies",
    ListField(NetworkField()),
    "Addresses or networks of reverse proxies: of a request that comes from one, X-Forwarded-For tells whose wrong "
    "tokens to count and X-Forwarded-Proto whether the browser speaks TLS. From anywhere else both are ignored.",
)

MOST_VALUES: Final = ConfigKey(
    "most_values",
    IntegerField(1_000, 100_000_000),
    "How many values one request may have, each list and object counted as well: reading very many of them holds up "
    "everybody else.",
    nesting.MAX_VALUES,
)
MOST_BYTES: Final = ConfigKey(
    "most_bytes",
    IntegerField(100_000, 1_000_000_000),
    "How many bytes one request may have: 10 MiB, and 64 MiB where a DocSpace is on the board, to which files are "
    "uploaded.",
)
MAX_WAITING: Final = 128
"""Connections of one address."""
MAX_CONNECTIONS: Final = ConfigKey(
    "max_connections_per_address",
    IntegerField(1, 100_000),
    "How many connections of one address may wait at the same time: idle, or with a request that is not whole. The one "
    "that was silent for longest gives way. Connections that are being answered do not count.",
    MAX_WAITING,
)
PUBLIC_URL: Final = ConfigKey(
    "url",
    TextField(
        TextRule(r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\s]+", "write a URL without a path, such as https://tools.example.org")
    ),
    "Where people's browsers reach the gateway, if not at the address it listens on: sign-in links begin with it.",
)

SECTION: Final = ConfigSection("", (PUBLIC_URL, HOSTS, ORIGINS, PROXIES, MOST_VALUES, MOST_BYTES, MAX_CONNECTIONS))
