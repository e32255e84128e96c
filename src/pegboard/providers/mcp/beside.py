"""What a request says beside the name and the arguments of a tool: what the client said, in the words of the era."""

from collections.abc import Mapping
from typing import Final, get_args

import msgspec
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    Implementation,
    LoggingLevel,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard import __version__
from pegboard.core.tool import Json, JsonObject

CLIENT_INFO: Final = Implementation(name="pegboard", version=__version__)

META_MEMBER: Final = "_meta"
_CONNECTION_META_KEYS: Final = frozenset(
    {
        "progressToken",
        PROTOCOL_VERSION_META_KEY,
        CLIENT_INFO_META_KEY,
        CLIENT_CAPABILITIES_META_KEY,
        LOG_LEVEL_META_KEY,
    }
)
"""Said between a client and us. To the server we say it anew, where its era has it."""

LOG_LEVELS: Final[tuple[str, ...]] = get_args(LoggingLevel)
"""Of log messages, from the least important on."""

_FORWARDED_CAPABILITIES: Final = ("elicitation", "sampling", "roots")
"""The capabilities that we can pass on: questions. Whatever else a client can do, it does not do through us."""


def extra_params(said: Mapping[str, bytes], version: str, can: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """The further members of the parameters, for a server of this version, on behalf of a client that can do that.

    A server of the handshake era has no use for answers and states, and reads other members than we mean.
    """
    modern = version in MODERN_PROTOCOL_VERSIONS
    members = {name: msgspec.json.decode(text) for name, text in said.items() if modern and name != META_MEMBER}
    meta = request_meta(said.get(META_MEMBER), version, can)
    return {**members, META_MEMBER: meta} if meta else members


def request_meta(said: bytes | None, version: str, can: Mapping[str, Json] | None = None) -> JsonObject:
    """What the client put there, and what the server's era wants to be told of who asks. May be empty."""
    told = _decode_object(said)
    meta: JsonObject = {name: value for name, value in told.items() if name not in _CONNECTION_META_KEYS}
    if version in MODERN_PROTOCOL_VERSIONS:
        meta[PROTOCOL_VERSION_META_KEY] = version
        meta[CLIENT_INFO_META_KEY] = {"name": CLIENT_INFO.name, "version": CLIENT_INFO.version}
        meta[CLIENT_CAPABILITIES_META_KEY] = forwarded_capabilities(can)
        if (level := _log_level_in(told)) is not None:
            meta[LOG_LEVEL_META_KEY] = level
    return meta


def forwarded_capabilities(can: Mapping[str, Json] | None) -> JsonObject:
    """Of what a client can do, what it can do through us."""
    return {name: can[name] for name in _FORWARDED_CAPABILITIES if name in can} if can else {}


def requested_log_level(said: bytes) -> str | None:
    """From which level on the client wants to hear a server's log messages."""
    return _log_level_in(_decode_object(said))


def _log_level_in(told: Mapping[str, Json]) -> str | None:
    level = told.get(LOG_LEVEL_META_KEY)
    return level if isinstance(level, str) and level in LOG_LEVELS else None


def _decode_object(said: bytes | None) -> JsonObject:
    told = None if said is None else msgspec.json.decode(said)
    return told if isinstance(told, dict) else {}
