"""`tools/call` on the short road: read, handed to the gateway, and its outcome written as it came."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import Final, TypeAlias

from pegboard.core.call import Arguments, Call
from pegboard.core.ids import CallId, WireName
from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.gateway import Gateway
from pegboard.memory import undisturbed
from pegboard.ports import Progress
from pegboard.surfaces.mcp.answer import Ended
from pegboard.surfaces.mcp.endpoint_state import EndpointState
from pegboard.surfaces.mcp.levels import NO_LOGS, wanted
from pegboard.surfaces.mcp.protocol import LOG_LEVEL_META_KEY, X_MCP_HEADER_KEY
from pegboard.surfaces.mcp.rounds import answered

from .client import Client, progress_to
from .messages import NOTHING_BESIDE, UNREADABLE, CallParams, encode, read_members, read_object
from .metas import Known, Metas
from .profile import Profile
from .reply import Reply
from .sessions import Session

NAME: Final = b"mcp-name"
NOBODY: Final[Mapping[str, Json]] = {}
ENCODED: Final = "=?"
"""How a value begins that no header could hold as it is."""
_HEADER_KEY: Final = encode(X_MCP_HEADER_KEY)


Decoded: TypeAlias = tuple[dict[str, Json], bytes]
"""Arguments, and the same as they are sent on: what was judged is what is sent."""


def decode_large(raw: bytes) -> Decoded:
    """The same, for a thread."""
    with undisturbed():
        return decode(raw)


def decode(raw: bytes) -> Decoded:
    """Raises what is in `UNREADABLE`."""
    arguments: dict[str, Json] = {} if raw == b"null" else read_object(raw)
    return arguments, encode(arguments)


@dataclass(slots=True, eq=False)
class Asked:
    """One request, as far as the road has read it."""

    profile: Profile
    session: Session | None
    headers: Mapping[bytes, bytes]
    named: str
    """The tool that they name, as it stands there."""


@dataclass(slots=True, eq=False)
class Ready:
    call: Call
    meta: Known
    can: Mapping[str, Json]
    level: str | None
    """That the session had set when it asked, if it is one and had."""


class Calls:
    def __init__(self, gateway: Gateway, state: EndpointState, metas: Metas) -> None:
        self._gateway = gateway
        self._state = state
        self._direct = state.direct
        self._metas = metas
        self._own = token_hex(8)
        self._numbers = count(1)

    def read(
        self,
        asked: Asked,
        told: CallParams,
        beside: Mapping[str, bytes] = NOTHING_BESIDE,
        decoded: "Decoded | None" = None,
    ) -> Ready | None:
        """The call that was asked for; `None` when it is not plainly one. Raises `MetaTooLargeError`."""
        try:
            meta = self._metas.of(told.meta)
            arguments, text = decode(bytes(told.arguments)) if decoded is None else decoded
        except UNREADABLE:
            return None
        if meta is None or (asked.profile.modern and not self._fits(asked, told.name, meta, arguments)):
            return None
        session = asked.session
        level = None if session is None else self._state.levels.of(session.id)
        if level is not None:
            beside = {**beside, "_meta": _with_level(meta.text, level)}
        elif meta.text:
            beside = meta.beside if beside is NOTHING_BESIDE else {**beside, "_meta": meta.text}
        call = Call(
            id=CallId(f"{self._own}{next(self._numbers):016x}"),
            name=WireName(told.name),
            arguments=arguments,
            principal=asked.profile.view.principal,
            at=self._gateway.clock(),
            raw=text,
            client=meta.client if session is None else session.client,
            beside=beside,
            headers=asked.headers,
        )
        can = session.can if session is not None else meta.meta.capabilities or NOBODY
        return Ready(call, meta, can, level)

    def carried(self, ready: Ready, asked: Asked, reply: Reply) -> Awaitable[Ended]:
        """A client of the handshake era may get an end that needs its answers first: see `answered`."""
        progress, client = self._back(ready, asked, reply)
        if asked.session is not None:
            return self._gateway.caller.call(ready.call, asked.profile.view, progress, client)
        assert self._state.parking is not None, "The endpoint serves only while it runs."
        return self._state.parking.call(ready.call, asked.profile.view, progress, client)

    def answered(self, ended: Ended, ready: Ready, asked: Asked, reply: Reply) -> Awaitable[Ended]:
        """The end of a call after its client has answered what it needed."""
        progress, client = self._back(ready, asked, reply)
        return answered(ended, ready.call, asked.profile.view, self._gateway.caller.call, progress, client)

    def _back(self, ready: Ready, asked: Asked, reply: Reply) -> tuple[Progress | None, Client]:
        """The ways back to the client while the call runs."""
        session, meta = asked.session, ready.meta.meta
        progress = None if meta.token is None else progress_to(reply, meta.token)
        if session is not None:
            return progress, Client(reply, ready.can, session, session.asking, ready.level)
        return progress, Client(reply, ready.can, ready.call.id, None, wanted(meta.log_level) or NO_LOGS)

    def _fits(self, asked: Asked, name: str, meta: Known, arguments: Arguments) -> bool:
        """Whether the headers of the 2026-07-28 era say what the body says. If not, the long road tells how not."""
        told = meta.meta
        if told.version != asked.profile.version or told.capabilities is None:
            return False
        if asked.named != name and not _is_encoded(asked.named, name):
            return False
        profile = asked.profile
        plain = profile.plain.get(name)
        if plain:
            return True
        schema = self._direct.input_schema(profile.view, name)
        if schema is None:
            return True
        if plain is None:
            plain = profile.plain[name] = _HEADER_KEY not in encode(schema)
        return plain or _repeats_arguments(schema, arguments, asked.headers)


def _is_encoded(header: str, name: str) -> bool:
    if not header.startswith(ENCODED):
        return False
    # Few names need it, and the SDK takes long to load.
    from mcp.shared.inbound import decode_header_value

    return decode_header_value(header) == name


def _repeats_arguments(schema: JsonObject, arguments: Arguments, headers: Mapping[bytes, bytes]) -> bool:
    """Whether headers repeat those arguments that the schema wants repeated. Few schemas do."""
    from mcp.shared.inbound import validate_mcp_param_headers

    given = {key.decode("latin-1"): value.decode("latin-1") for key, value in headers.items()}
    return validate_mcp_param_headers(schema, arguments, given) is None


def named(headers: Mapping[bytes, bytes]) -> str:
    """The tool that the headers of a request of the 2026-07-28 era name."""
    return headers.get(NAME, b"").strip(b" \t").decode("latin-1")


def _with_level(meta: bytes, level: str) -> bytes:
    """The level that a session of the handshake era set, told as later eras tell it."""
    return encode({**read_members(meta or b"{}"), LOG_LEVEL_META_KEY: level})
