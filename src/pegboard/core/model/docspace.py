"""Where a DocSpace is: an http or https URL that everything else is taken from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from pegboard.core.model.ids import ToolId, ToolsetId, ToolsetKey

# How the tools of a DocSpace are reached, as it was written: values keep their references until they are used.

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


@dataclass(frozen=True)
class DocSpace:
    """One DocSpace, for all of its toolsets. Texts may hold `${…}` references; an empty one was not said."""

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
    """Seconds that DocSpace has to finish a long operation."""
    timeout: float = TIMEOUT_S
    """Seconds that one request to DocSpace may take."""
    problem: str = ""
    """What was said of it in a way that nobody can use, line by line."""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(
            filter(
                None,
                (self.base_url, self.api_key, self.auth_token, self.username, self.password, self.authorization),
            )
        )


# The toolsets of DocSpace and the names of their tools, known before anything is asked.

TOOLSETS: Final[Mapping[ToolsetId, tuple[str, ...]]] = MappingProxyType(
    {
        ToolsetId("files"): (
            "delete_file",
            "get_file_info",
            "update_file",
            "copy_batch_items",
            "move_batch_items",
            "download_file_as_text",
            "upload_file",
        ),
        ToolsetId("folders"): (
            "create_folder",
            "delete_folder",
            "get_folder_content",
            "get_folder_info",
            "rename_folder",
            "get_my_folder",
        ),
        ToolsetId("people"): ("get_all_people",),
        ToolsetId("rooms"): (
            "create_room",
            "get_room_info",
            "update_room",
            "archive_room",
            "set_room_security",
            "get_room_security_info",
            "get_rooms_folder",
            "get_room_types",
            "get_room_access_levels",
        ),
    }
)

DESCRIPTIONS: Final[Mapping[ToolsetId, str]] = MappingProxyType(
    {
        ToolsetId("files"): "Operations for working with files.",
        ToolsetId("folders"): "Operations for working with folders.",
        ToolsetId("people"): "Operations for working with users.",
        ToolsetId("rooms"): "Operations for working with rooms.",
    }
)


def tool_ids() -> tuple[ToolId, ...]:
    return tuple(ToolId(ToolsetKey(toolset), name) for toolset, names in TOOLSETS.items() for name in names)


# Settings of a DocSpace that cannot be used: told of each of its tools, and of nothing else on the board.

_PREFIX: Final = "DocSpace is misconfigured: "
OUTAGE_PATTERN: Final = rf"{_PREFIX}[^\r\n]{{1,2000}}"
"""As a regular expression: the whole of why a toolset is down then."""


@dataclass(frozen=True, slots=True)
class DocSpaceMisconfiguration:
    why: str
    """A line for each thing that is wrong; what stands above several of them has a line of its own."""

    @property
    def outage(self) -> str:
        """Why its toolsets are down, on one line."""
        lines = [" ".join(line.split()) for line in self.why.splitlines()]
        return f"{_PREFIX}{'; '.join(filter(None, lines))}"[:1_900]


_REMEDIES: Final = {
    "No tools left": "Select one tool or more: toolsets, enabled_tools and disabled_tools (DOCSPACE_TOOLSETS, …).",
    "No password": "Say the password that goes with the user name: password (DOCSPACE_PASSWORD).",
    "No username": "Say the user name that goes with the password: username (DOCSPACE_USERNAME).",
    "No API base URL": "Say where DocSpace is: base_url (DOCSPACE_BASE_URL), such as https://example.onlyoffice.com",
    "No authentication method": (
        "Say one of api_key, auth_token, username with password, or authorization (DOCSPACE_API_KEY, …); or let each "
        "caller over HTTP bring its own: request_credentials."
    ),
    "Multiple authentication methods": (
        "Keep one of api_key, auth_token, username with password, and authorization (DOCSPACE_API_KEY, …)."
    ),
}


def misconfiguration_remedies(wrong: DocSpaceMisconfiguration) -> tuple[str, ...]:
    """What to do about each thing that is wrong, where its own words do not say so."""
    return tuple(_REMEDIES[line] for line in wrong.why.splitlines() if line in _REMEDIES)


def misconfiguration_in(outage: str) -> str | None:
    """Of why a toolset is down, what is wrong with the settings; `None` where it is something else."""
    return outage.removeprefix(_PREFIX) if re.fullmatch(OUTAGE_PATTERN, outage) else None


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
