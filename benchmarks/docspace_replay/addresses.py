"""The addresses in recordings, and where they are during the replay: texts name hosts and ports of another day."""

import base64
import binascii
import json
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from .recordings import Recording, Response

ORIGIN: Final = re.compile(r"\bhttps?://(?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(?::\d+)?")
REFUSED: Final = re.compile(r"ECONNREFUSED ([^\s\"\\]+)")
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
ANYWHERE: Final = "http://127.0.0.1:80"
REACHED_BY: Final = frozenset({"href", "url", "location"})


@dataclass(frozen=True)
class Addresses:
    """Recorded origin to the one it has now."""

    primary: str
    """Where the API was, as recorded."""
    now: Mapping[str, str]

    def to_ours(self, text: str) -> str:
        return _replaced(text, self.now)

    def to_recorded(self, text: str) -> str:
        return _replaced(text, {ours: recorded for recorded, ours in self.now.items()})


def _replaced(text: str, change: Mapping[str, str]) -> str:
    """Whole addresses alone: with their scheme, or, where they have a port, without it as in network errors."""
    changes = dict(change)
    for old, new in change.items():
        if ":" in (place := old.partition("://")[2]):
            changes.setdefault(place, new.partition("://")[2])
    if not changes:
        return text
    known = "|".join(re.escape(each) for each in sorted(changes, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{known})(?![\w-]|\.\w|:\d)", lambda found: changes[found[0]], text)


@dataclass
class Ports:
    """Ports of this machine that stand for recorded ones: open ones share the server, refused ones are held closed."""

    open: int
    others: list[int] = field(default_factory=list[int])
    closed: list[socket.socket] = field(default_factory=list[socket.socket])

    def refusing(self) -> int:
        """Bound and not listened on: whoever connects is refused for as long as this lives."""
        holder = socket.socket()
        holder.bind(("127.0.0.1", 0))
        self.closed.append(holder)
        port: int = holder.getsockname()[1]
        return port

    def close(self) -> None:
        for holder in self.closed:
            holder.close()


def primary_of(recordings: Sequence[Recording]) -> str:
    """Where the API was: what answers link to most often; else where the environments say."""
    linked = Counter(found for recording in recordings for found in _linked(recording.responses))
    if linked:
        return linked.most_common(1)[0][0]
    named = Counter(
        origin
        for recording in recordings
        if (origin := origin_of((recording.environment or {}).get("DOCSPACE_BASE_URL", ""))) is not None
    )
    return named.most_common(1)[0][0] if named else ANYWHERE


def origin_of(url: str) -> str | None:
    found = ORIGIN.match(url.strip())
    return None if found is None else found[0]


def addresses(recordings: Sequence[Recording], ports: Ports) -> Addresses:
    """Every origin that a call may go to. A loopback name stays what it is; any other host becomes 127.0.0.1."""
    primary = primary_of(recordings)
    refused = {found for recording in recordings for found in _refused(recording)}
    by_port: dict[str, int] = {}
    now: dict[str, str] = {}
    others = iter(ports.others)
    for origin in [primary, *sorted(_reached(recordings) - {primary})]:
        parts = urlsplit(origin)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
        if parts.netloc in refused:
            now[origin] = f"http://127.0.0.1:{ports.refusing()}"
        elif host in LOOPBACK:
            port = by_port.setdefault(str(parts.port), ports.open if origin == primary else next(others, ports.open))
            now[origin] = f"http://{'localhost' if host == 'localhost' else '127.0.0.1'}:{port}"
        else:
            now[origin] = f"http://127.0.0.1:{ports.open if origin == primary else next(others, ports.open)}"
    return Addresses(primary, now)


def _reached(recordings: Sequence[Recording]) -> set[str]:
    found: set[str] = set()
    for recording in recordings:
        base = origin_of((recording.environment or {}).get("DOCSPACE_BASE_URL", ""))
        found.update(_linked(recording.responses), () if base is None else (base,))
    return found


def distinct_ports(recordings: Sequence[Recording]) -> int:
    """How many servers the replay needs at most, one an origin."""
    return len(_reached(recordings) | {primary_of(recordings)})


def _linked(responses: Iterable[Any]) -> Iterator[str]:
    for response in responses:
        if isinstance(response, Response):
            yield from _links(response.body)
            yield from _links(dict(response.headers))


def _links(told: Any) -> Iterator[str]:
    if isinstance(told, dict):
        for key, value in told.items():
            if key.lower() in REACHED_BY and isinstance(value, str) and (origin := origin_of(value)) is not None:
                yield origin
            else:
                yield from _links(value)
    elif isinstance(told, list):
        for value in told:
            yield from _links(value)


def _refused(recording: Recording) -> Iterator[str]:
    if recording.result is not None:
        for text in recording.result.texts:
            yield from REFUSED.findall(text)


def environment_of(recording: Recording, recordings: Sequence[Recording], where: Addresses) -> dict[str, str]:
    """The variables that a call was recorded under, with the addresses of now. Those of the listener are left out."""
    given = recording.environment
    if given is None:
        given = {"DOCSPACE_BASE_URL": f"{where.primary}/", **_credential(recordings)}
    # What a server calls itself is its own affair, and a setting: with the recorded one, the header can be compared.
    agents = _agents([recording]) or _agents(recordings)
    given = {"DOCSPACE_USER_AGENT": agents.most_common(1)[0][0], **given} if agents else given
    listener = ("DOCSPACE_TRANSPORT", "DOCSPACE_HOST", "DOCSPACE_PORT")
    kept = {name: value for name, value in given.items() if name.startswith("DOCSPACE_") and name not in listener}
    return {name: where.to_ours(value) for name, value in kept.items()}


def _agents(recordings: Sequence[Recording]) -> Counter[str]:
    return Counter(
        request.headers["user-agent"]
        for recording in recordings
        for request in recording.requests
        if "user-agent" in request.headers
    )


def _credential(recordings: Sequence[Recording]) -> dict[str, str]:
    """What the calls without an environment were sent with, read off their requests."""
    seen = Counter(
        (request.headers["authorization"], "asc_auth_key=" in request.headers.get("cookie", ""))
        for recording in recordings
        if recording.environment is None
        for request in recording.requests
        if "authorization" in request.headers
    )
    if not seen:
        return {"DOCSPACE_API_KEY": "sk-test"}
    (value, has_cookie), _ = seen.most_common(1)[0]
    scheme, _, rest = value.partition(" ")
    if has_cookie:
        return {"DOCSPACE_AUTH_TOKEN": value}
    if scheme == "Bearer":
        return {"DOCSPACE_API_KEY": rest}
    if scheme == "Basic":
        try:
            user, _, password = base64.b64decode(rest, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return {"DOCSPACE_AUTHORIZATION": value}
        return {"DOCSPACE_USERNAME": user, "DOCSPACE_PASSWORD": password}
    return {"DOCSPACE_AUTHORIZATION": value}


def as_recorded(told: Any, where: Addresses) -> Any:
    """Anything that is JSON, with the addresses of the recordings."""
    return json.loads(where.to_recorded(json.dumps(told, ensure_ascii=False)))
