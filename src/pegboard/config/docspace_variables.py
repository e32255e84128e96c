"""The `DOCSPACE_*` environment variables, read as the server reads them that people come from, with its messages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.docspace import TOOLSETS, CallerCredentialRules, base_url_problems, normalize_base_url
from pegboard.core.reference import closest_names
from pegboard.core.selection import Selection, parse_toolsets

from .problem import FileProblem

PREFIX: Final = "DOCSPACE_"
ENVIRONMENT_NAME: Final = "the environment"
HEADER_PREFIX: Final = "x-mcp-"
_TRUE_WORDS: Final = frozenset({"yes", "y", "true", "1"})
_FALSE_WORDS: Final = frozenset({"no", "n", "false", "0", ""})

SECRET_NAMES: Final = ("AUTHORIZATION", "API_KEY", "AUTH_TOKEN", "USERNAME", "PASSWORD")
_REQUEST_NAMES: Final = ("REQUEST_QUERY", "REQUEST_AUTHORIZATION_HEADER", "REQUEST_HEADER_PREFIX")
_KNOWN_NAMES: Final = (
    *("DYNAMIC", "TOOLSETS", "ENABLED_TOOLS", "DISABLED_TOOLS", "USER_AGENT", "BASE_URL", *SECRET_NAMES),
    *(*_REQUEST_NAMES, "TRANSPORT"),
)
_HTTP_TRANSPORTS: Final = ("sse", "streamable-http", "http")
_LISTEN_ADVICE: Final = "say where to listen with pegboard serve --host and --port"
_SESSION_ADVICE: Final = "sessions end half an hour after their last request"
_OAUTH_ADVICE: Final = "Pegboard signs nobody in to DocSpace; use a key, a token, or a user name and password"
_ACCESS_ADVICE: Final = "who may come in is said under gateway in pegboard.yaml"
_UNSUPPORTED: Final[Mapping[str, str]] = {
    "HOST": _LISTEN_ADVICE,
    "PORT": _LISTEN_ADVICE,
    "SESSION_": _SESSION_ADVICE,
    "OAUTH_": _OAUTH_ADVICE,
    "SERVER_": _ACCESS_ADVICE,
    "PROXY_HOPS": _ACCESS_ADVICE,
    "INTERNAL": "each caller brings its own credentials in headers; see the reference of DocSpace",
}


@dataclass(frozen=True)
class DocSpaceVariables:
    """What they say. Secrets are left where they are: their names are enough to find them again."""

    base_url: str = ""
    secret_names: frozenset[str] = frozenset()
    """Which of the secrets are not blank, by their names without the prefix."""
    selection: Selection = field(default_factory=Selection)
    dynamic: bool = False
    user_agent: str | None = None
    caller_credentials: CallerCredentialRules = field(default_factory=CallerCredentialRules)
    """What callers could bring, if they may."""
    asks_callers: bool = False
    """Whether callers are asked to bring credentials of their own, in so many words."""
    over_http: bool = False
    """Whether it is said that callers come over HTTP."""
    has_typos: bool = False
    """Whether a name that nobody reads looks like one of these."""
    issues: tuple[str, ...] = ()

    @property
    def error_message(self) -> str:
        return "\n\t\t".join(("Parsing environment variables", *self.issues)) if self.issues else ""

    def reference(self, name: str) -> str:
        return f"${{{PREFIX}{name}}}" if name in self.secret_names else ""


def are_any_set(environ: Mapping[str, str]) -> bool:
    return any(_is_known(name) for name in _names(environ))


def read_variables(environ: Mapping[str, str]) -> DocSpaceVariables:
    issues: list[str] = []

    def issue(name: str, message: str) -> None:
        issues.append(f"{PREFIX}{name}: custom {message}")

    def text(name: str) -> str | None:
        return environ.get(f"{PREFIX}{name}")

    dynamic = _parse_boolean("DYNAMIC", text("DYNAMIC"), False, issue)
    known = tuple(name for names in TOOLSETS.values() for name in names)
    chosen = _parse_list("TOOLSETS", "all" if (said := text("TOOLSETS")) is None else said, ("all", *TOOLSETS), issue)
    added = _parse_list("ENABLED_TOOLS", text("ENABLED_TOOLS") or "", known, issue)
    taken = _parse_list("DISABLED_TOOLS", text("DISABLED_TOOLS") or "", known, issue)
    place = (text("BASE_URL") or "").strip()
    faults = base_url_problems(place) if place else ()
    for fault in faults:
        issue("BASE_URL", fault)
    query = _parse_boolean("REQUEST_QUERY", text("REQUEST_QUERY"), True, issue)
    header = _parse_boolean("REQUEST_AUTHORIZATION_HEADER", text("REQUEST_AUTHORIZATION_HEADER"), True, issue)
    prefix = (
        (text("REQUEST_HEADER_PREFIX") or "").strip().lower() if text("REQUEST_HEADER_PREFIX") is not None else None
    )
    if prefix not in (None, "", HEADER_PREFIX):
        # Whoever sends another one would be answered as the operator, and believe to be answered as itself.
        issue("REQUEST_HEADER_PREFIX", f"Expected {HEADER_PREFIX} or nothing, but got {prefix}")
    agent = text("USER_AGENT")
    return DocSpaceVariables(
        base_url=normalize_base_url(place) if place and not faults else "",
        secret_names=frozenset(name for name in SECRET_NAMES if (text(name) or "").strip()),
        selection=Selection(parse_toolsets(chosen), added, taken),
        dynamic=dynamic,
        user_agent=None if agent is None else agent.strip(),
        caller_credentials=CallerCredentialRules(
            authorization=header, headers=prefix in (None, HEADER_PREFIX), query=query
        ),
        asks_callers=any(_is_yes(name, text(name)) for name in _REQUEST_NAMES),
        over_http=(text("TRANSPORT") or "").strip().lower() in _HTTP_TRANSPORTS,
        has_typos=any(_is_typo(name) for name in _names(environ)),
        issues=tuple(issues),
    )


def variable_warnings(environ: Mapping[str, str]) -> Iterator[FileProblem]:
    """Those that mean nothing here, and those that nobody knows."""
    for name in _names(environ):
        if name in _KNOWN_NAMES:
            word = environ[PREFIX + name].strip().lower()
            if name == "TRANSPORT" and word not in ("", "stdio", *_HTTP_TRANSPORTS):
                known = ", ".join(("stdio", *_HTTP_TRANSPORTS))
                told = f"expected one of: {known}. Whether pegboard stdio or serve runs is what counts."
                yield FileProblem(ENVIRONMENT_NAME, 0, PREFIX + name, told)
            continue
        why = next((why for start, why in _UNSUPPORTED.items() if _matches_name(name, start)), None)
        if why is not None:
            yield FileProblem(ENVIRONMENT_NAME, 0, PREFIX + name, f"this is not read: {why}.")
        elif _is_typo(name):
            meant = " or ".join(PREFIX + one for one in closest_names(name, _KNOWN_NAMES))
            yield FileProblem(ENVIRONMENT_NAME, 0, PREFIX + name, f"nobody reads this. Did you mean {meant}?")


def _names(environ: Mapping[str, str]) -> list[str]:
    return sorted(name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX))


def _is_typo(name: str) -> bool:
    return not _is_known(name) and bool(closest_names(name, _KNOWN_NAMES))


def _is_yes(name: str, text: str | None) -> bool:
    word = (text or "").strip().lower()
    return word == HEADER_PREFIX if name == "REQUEST_HEADER_PREFIX" else word in _TRUE_WORDS


def _is_known(name: str) -> bool:
    return name in _KNOWN_NAMES or any(_matches_name(name, start) for start in _UNSUPPORTED)


def _matches_name(name: str, start: str) -> bool:
    return name.startswith(start) if start.endswith("_") else name == start


def _parse_boolean(name: str, text: str | None, default: bool, issue: Callable[[str, str], None]) -> bool:
    if text is None:
        return default
    word = text.strip().lower()
    if word not in _TRUE_WORDS and word not in _FALSE_WORDS:
        issue(name, f"Expected one of: yes, y, true, 1, no, n, false, 0, but got {text}")
    return word in _TRUE_WORDS


def _parse_list(name: str, text: str, known: tuple[str, ...], issue: Callable[[str, str], None]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for part in text.split(","):
        if word := part.strip().lower():
            found.setdefault(word, part)
    for word, written in found.items():
        if word not in known:
            issue(name, f"Unknown value: {written}")
    return tuple(word for word in found if word in known)
