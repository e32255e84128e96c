"""A web API as a source of tools: where it is, as whom it is asked, and what of that callers may say themselves."""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

DEADLINE_S: Final = 600.0
TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class CallerCredentialRules:
    """What of a caller's own request may stand in for the operator's credentials."""

    authorization: bool = True
    """The Authorization header. Never where it is the caller's token for this gateway."""
    headers: bool = True
    """X-Mcp-Base-Url, X-Mcp-Api-Key, X-Mcp-Auth-Token, X-Mcp-Username and X-Mcp-Password."""
    query: bool = True
    """base_url among the query parameters of the address."""
    base_urls: tuple[str, ...] = ()
    """The only base URLs that a request may name, each in its one spelling; none for any."""
    is_implied: bool = False
    """Whether nobody said so: there are no other credentials, so that nothing else could work."""
    api_title: str = field(default="API", compare=False)
    """What people call the API that they are for."""


@dataclass(frozen=True)
class WebApi:
    """One web API, for all of its toolsets. Texts may hold `${…}` references; an empty one was not said."""

    kind: str
    """Its section of pegboard.yaml, and the command that checks it."""
    title: str
    """What people call it."""
    base_url: str = ""
    api_key: str = ""
    auth_token: str = ""
    username: str = ""
    password: str = ""
    authorization: str = ""
    lends: CallerCredentialRules | None = None
    """`None`: every caller has what the operator's credentials have."""
    user_agent: str | None = None
    """`None` for our own; an empty one is not sent."""
    deadline: float = DEADLINE_S
    """Seconds that it has to finish a long operation."""
    timeout: float = TIMEOUT_S
    """Seconds that one request may take."""
    problem: str = ""
    """What was said of it in a way that nobody can use, line by line."""

    @property
    def texts(self) -> tuple[str, ...]:
        said = (self.base_url, self.api_key, self.auth_token, self.username, self.password, self.authorization)
        return tuple(filter(None, said))


@dataclass(frozen=True, slots=True)
class ApiMisconfiguration:
    """Settings that cannot be used: told of each tool of the API, and of nothing else on the board."""

    why: str
    """A line for each thing that is wrong; what stands above several of them has a line of its own."""

    def outage(self, title: str) -> str:
        """Why its toolsets are down, on one line."""
        lines = [" ".join(line.split()) for line in self.why.splitlines()]
        return f"{title} is misconfigured: {'; '.join(filter(None, lines))}"[:1_900]


_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST: Final = re.compile(r"[^\s/\\?#@:\[\]<>^|%\"{}]+|[0-9A-Fa-f:.]+")
_USERINFO: Final = re.compile(r"(//)[^/?#]*@")
_PORTS: Final = {"http": 80, "https": 443}
_MAX_URL_CHARS: Final = 200


def base_url_problems(text: str, written: str = "") -> tuple[str, ...]:
    """What keeps a text from being a base URL; nothing where it is one. A password that stands in it is not told.

    `written` is the text before its references were resolved. If given, it is quoted instead of the text.
    """
    shown = _USERINFO.sub(r"\1…@", written or text)[:_MAX_URL_CHARS]
    if not _SCHEME.match(text):
        return (f"Expected a valid URL, but got {shown}",)
    try:
        split = urlsplit(text)
        host, port = split.hostname, split.port
    except ValueError:
        return (f"Expected a valid URL, but got {shown}",)
    if split.scheme not in ("http", "https"):
        return (f"Expected a URL that begins with http:// or https://, but got {shown}",)
    if not host or port == 0 or _HOST.fullmatch(host) is None or any(c.isspace() or not c.isprintable() for c in text):
        return (f"Expected a valid URL, but got {shown}",)
    faults: list[str] = []
    if "@" in split.netloc:
        faults.append(f"Expected a URL without a user name or password, but got {shown}")
    if "?" in text.partition("#")[0]:
        faults.append(f"Expected a URL without search parameters, but got {shown}")
    if "#" in text:
        faults.append(f"Expected a URL without hash, but got {shown}")
    return tuple(faults)


def normalize_base_url(text: str) -> str:
    """The same place in one spelling, with a slash at the end: for a text without faults."""
    split = urlsplit(text)
    name = split.hostname or ""
    host = f"[{name}]" if ":" in name else name
    port = "" if split.port in (None, _PORTS[split.scheme]) else f":{split.port}"
    path = split.path if split.path.endswith("/") else f"{split.path}/"
    return f"{split.scheme}://{host}{port}{path}"
