"""The `DOCSPACE_*` environment variables, read as the server reads them that people come from, with its messages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.docspace import TOOLSETS, Lends, base_url, url_faults
from pegboard.core.reference import closest
from pegboard.core.selection import Selection, toolsets

from .problem import Problem

PREFIX: Final = "DOCSPACE_"
WHERE: Final = "the environment"
HEADER_PREFIX: Final = "x-mcp-"
_YES: Final = frozenset({"yes", "y", "true", "1"})
_NO: Final = frozenset({"no", "n", "false", "0", ""})

SECRETS: Final = ("AUTHORIZATION", "API_KEY", "AUTH_TOKEN", "USERNAME", "PASSWORD")
_REQUEST: Final = ("REQUEST_QUERY", "REQUEST_AUTHORIZATION_HEADER", "REQUEST_HEADER_PREFIX")
_READ: Final = (
    *("DYNAMIC", "TOOLSETS", "ENABLED_TOOLS", "DISABLED_TOOLS", "USER_AGENT", "BASE_URL", *SECRETS),
    *(*_REQUEST, "TRANSPORT"),
)
_OVER_HTTP: Final = ("sse", "streamable-http", "http")
_LISTENS: Final = "say where to listen with pegboard serve --host and --port"
_SESSIONS: Final = "sessions end half an hour after their last request"
_NO_OAUTH: Final = "Pegboard signs nobody in to DocSpace; use a key, a token, or a user name and password"
_DOOR: Final = "who may come in is said under gateway in pegboard.yaml"
_PASSED_OVER: Final[Mapping[str, str]] = {
    "HOST": _LISTENS,
    "PORT": _LISTENS,
    "SESSION_": _SESSIONS,
    "OAUTH_": _NO_OAUTH,
    "SERVER_": _DOOR,
    "PROXY_HOPS": _DOOR,
    "INTERNAL": "each caller brings its own credentials in headers; see the reference of DocSpace",
}


@dataclass(frozen=True)
class Variables:
    """What they say. Secrets are left where they are: their names are enough to find them again."""

    base_url: str = ""
    set: frozenset[str] = frozenset()
    """Which of the secrets are not blank, by their names without the prefix."""
    selection: Selection = field(default_factory=Selection)
    dynamic: bool = False
    user_agent: str | None = None
    lends: Lends = field(default_factory=Lends)
    """What callers could bring, if they may."""
    invites: bool = False
    """Whether callers are asked to bring credentials of their own, in so many words."""
    listens: bool = False
    """Whether it is said that callers come over HTTP."""
    slips: bool = False
    """Whether a name that nobody reads looks like one of these."""
    issues: tuple[str, ...] = ()

    @property
    def wrong(self) -> str:
        return "\n\t\t".join(("Parsing environment variables", *self.issues)) if self.issues else ""

    def reference(self, name: str) -> str:
        return f"${{{PREFIX}{name}}}" if name in self.set else ""


def are_set(environ: Mapping[str, str]) -> bool:
    return any(_is_known(name) for name in _names(environ))


def variables(environ: Mapping[str, str]) -> Variables:
    issues: list[str] = []

    def issue(name: str, message: str) -> None:
        issues.append(f"{PREFIX}{name}: custom {message}")

    def text(name: str) -> str | None:
        return environ.get(f"{PREFIX}{name}")

    dynamic = _truth("DYNAMIC", text("DYNAMIC"), False, issue)
    known = tuple(name for names in TOOLSETS.values() for name in names)
    chosen = _listed("TOOLSETS", "all" if (said := text("TOOLSETS")) is None else said, ("all", *TOOLSETS), issue)
    added = _listed("ENABLED_TOOLS", text("ENABLED_TOOLS") or "", known, issue)
    taken = _listed("DISABLED_TOOLS", text("DISABLED_TOOLS") or "", known, issue)
    place = (text("BASE_URL") or "").strip()
    faults = url_faults(place) if place else ()
    for fault in faults:
        issue("BASE_URL", fault)
    query = _truth("REQUEST_QUERY", text("REQUEST_QUERY"), True, issue)
    header = _truth("REQUEST_AUTHORIZATION_HEADER", text("REQUEST_AUTHORIZATION_HEADER"), True, issue)
    prefix = (
        (text("REQUEST_HEADER_PREFIX") or "").strip().lower() if text("REQUEST_HEADER_PREFIX") is not None else None
    )
    if prefix not in (None, "", HEADER_PREFIX):
        # Whoever sends another one would be answered as the operator, and believe to be answered as itself.
        issue("REQUEST_HEADER_PREFIX", f"Expected {HEADER_PREFIX} or nothing, but got {prefix}")
    agent = text("USER_AGENT")
    return Variables(
        base_url=base_url(place) if place and not faults else "",
        set=frozenset(name for name in SECRETS if (text(name) or "").strip()),
        selection=Selection(toolsets(chosen), added, taken),
        dynamic=dynamic,
        user_agent=None if agent is None else agent.strip(),
        lends=Lends(authorization=header, headers=prefix in (None, HEADER_PREFIX), query=query),
        invites=any(_is_yes(name, text(name)) for name in _REQUEST),
        listens=(text("TRANSPORT") or "").strip().lower() in _OVER_HTTP,
        slips=any(_is_slip(name) for name in _names(environ)),
        issues=tuple(issues),
    )


def remarks(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Those that mean nothing here, and those that nobody knows."""
    for name in _names(environ):
        if name in _READ:
            word = environ[PREFIX + name].strip().lower()
            if name == "TRANSPORT" and word not in ("", "stdio", *_OVER_HTTP):
                known = ", ".join(("stdio", *_OVER_HTTP))
                told = f"expected one of: {known}. Whether pegboard stdio or serve runs is what counts."
                yield Problem(WHERE, 0, PREFIX + name, told)
            continue
        why = next((why for start, why in _PASSED_OVER.items() if _begins(name, start)), None)
        if why is not None:
            yield Problem(WHERE, 0, PREFIX + name, f"this is not read: {why}.")
        elif _is_slip(name):
            meant = " or ".join(PREFIX + one for one in closest(name, _READ))
            yield Problem(WHERE, 0, PREFIX + name, f"nobody reads this. Did you mean {meant}?")


def _names(environ: Mapping[str, str]) -> list[str]:
    return sorted(name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX))


def _is_slip(name: str) -> bool:
    return not _is_known(name) and bool(closest(name, _READ))


def _is_yes(name: str, text: str | None) -> bool:
    word = (text or "").strip().lower()
    return word == HEADER_PREFIX if name == "REQUEST_HEADER_PREFIX" else word in _YES


def _is_known(name: str) -> bool:
    return name in _READ or any(_begins(name, start) for start in _PASSED_OVER)


def _begins(name: str, start: str) -> bool:
    return name.startswith(start) if start.endswith("_") else name == start


def _truth(name: str, text: str | None, default: bool, issue: Callable[[str, str], None]) -> bool:
    if text is None:
        return default
    word = text.strip().lower()
    if word not in _YES and word not in _NO:
        issue(name, f"Expected one of: yes, y, true, 1, no, n, false, 0, but got {text}")
    return word in _YES


def _listed(name: str, text: str, known: tuple[str, ...], issue: Callable[[str, str], None]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for part in text.split(","):
        if word := part.strip().lower():
            found.setdefault(word, part)
    for word, written in found.items():
        if word not in known:
            issue(name, f"Unknown value: {written}")
    return tuple(word for word in found if word in known)
