"""Who DocSpace is asked as, and where it is: what an operator wrote, or what a caller's own request brings.

Nothing here opens a connection, and no secret is in the `repr` of anything.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import SplitResult, urlsplit, urlunsplit

_UNSENDABLE: Final = re.compile(r"[^\x20-\x7e\x80-\xff\t]")
_PREFIX: Final = "x-mcp-"
_PORTS: Final = {"http": 80, "https": 443}
NEEDS_BASE: Final = "Base URL is required with API key, PAT, or (username and password)"
ONLY_ONE: Final = "Expected only one of API key, PAT, or (username and password) to be set"


@dataclass(frozen=True, slots=True)
class ApiKey:
    key: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A personal access token. DocSpace reads it bare, or as the cookie of a signed-in browser; it is sent as both."""

    token: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        return {"authorization": self.token, "cookie": f"asc_auth_key={self.token}"}


@dataclass(frozen=True, slots=True)
class Password:
    username: str
    password: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        pair = f"{self.username}:{self.password}".encode("utf-8", "replace")
        return {"authorization": f"Basic {base64.b64encode(pair).decode()}"}


@dataclass(frozen=True, slots=True)
class Raw:
    """The whole value of `Authorization`, as somebody else made it."""

    authorization: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        return {"authorization": self.authorization}


Credential: TypeAlias = ApiKey | AccessToken | Password | Raw


def secrets_of(credential: Credential) -> frozenset[str]:
    """What must not be told to anybody: the secret itself, and all that is sent of it."""
    sent = {part for value in credential.headers().values() for part in (value, *value.split()[1:])}
    return frozenset(sent | {credential.password} if isinstance(credential, Password) else sent)


@dataclass(frozen=True, slots=True)
class Access:
    """One DocSpace, and who asks it."""

    base: str
    """With a scheme of `http` or `https`, and a slash at its end."""
    credential: Credential

    @property
    def origin(self) -> str:
        return origin(self.base)


@dataclass(frozen=True, slots=True)
class Misconfigured:
    """Why nobody can be asked: a line for each problem."""

    why: str


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """Nobody said who asks: neither an operator nor the caller."""

    why: str = (
        "Unauthorized. Send your own DocSpace credentials: X-Mcp-Base-Url with X-Mcp-Api-Key, X-Mcp-Auth-Token, or "
        "X-Mcp-Username and X-Mcp-Password"
    )


def origin(url: str) -> str:
    """Scheme, host and port: what credentials are kept within. A port that goes without saying is said."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    port = parts.port or _PORTS.get(scheme, 0)
    return f"{scheme}://{(parts.hostname or '').lower()}:{port}"


def base_url(text: str) -> str | Misconfigured:
    """The address of a DocSpace as people write it, with the slash that paths are put after."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if not parts.scheme or any(mark in text for mark in " \t\r\n\\"):
        return Misconfigured(f"Expected a valid URL, but got {text}")
    problems = []
    if parts.scheme not in ("http", "https"):
        told = f"Expected a URL that begins with http:// or https://, but got {text}"
        return Misconfigured(f"{told}. Write the address that a browser shows for your DocSpace")
    if not parts.hostname:
        return Misconfigured(f"Expected a valid URL, but got {text}")
    if parts.username is not None or parts.password is not None:
        # The URL is told to models in errors, so it is no place for a password.
        problems.append("Expected a URL without a user name and password. Set them as username and password")
    if parts.query or text.split("#", 1)[0].endswith("?"):
        problems.append(f"Expected a URL without search parameters, but got {text}")
    if parts.fragment or text.endswith("#"):
        problems.append(f"Expected a URL without hash, but got {text}")
    if problems:
        return Misconfigured("\n".join(problems))
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    path = parts.path if parts.path.endswith("/") else f"{parts.path}/"
    return urlunsplit((parts.scheme, f"{host}{port}", path, "", ""))


def declared(
    base: str = "",
    *,
    authorization: str = "",
    api_key: str = "",
    auth_token: str = "",
    username: str = "",
    password: str = "",
) -> Access | Misconfigured | None:
    """What an operator wrote, in a file or in the environment. `None` when there is nothing at all.

    All that is wrong is told at once. An address without credentials is for callers who bring their own.
    """
    base, authorization, api_key, auth_token = (text.strip() for text in (base, authorization, api_key, auth_token))
    username, password = username.strip(), password.strip()
    problems: list[str] = []
    if username and not password:
        problems.append("No password")
    if password and not username:
        problems.append("No username")
    given = _credentials(authorization, api_key, auth_token, username, password)
    if given and not base:
        problems.append("No API base URL")
    if len(given) > 1:
        problems.append("Multiple authentication methods")
    where: str | Misconfigured | None = base_url(base) if base else None
    if isinstance(where, Misconfigured):
        problems.insert(0, where.why)
    problems += (told for one in given if (told := _unsendable(one)) is not None)
    if problems:
        return Misconfigured("\n".join(problems))
    if not given:
        return None
    assert isinstance(where, str)
    return Access(where, given[0])


def brought(headers: Mapping[bytes, bytes], *, authorization: bool = True) -> Access | Misconfigured | None:
    """What a caller's own request brings; `None` when it brings nothing of DocSpace's.

    `authorization` says whether the `Authorization` header is for DocSpace. Where it is the gateway's own token, it
    must not be: it would be sent to whatever address the caller names.
    """

    def said(name: str) -> str:
        return headers.get(name.encode(), b"").decode("latin-1").strip()

    base, key, token = (said(f"{_PREFIX}{name}") for name in ("base-url", "api-key", "auth-token"))
    username, password = said(f"{_PREFIX}username"), said(f"{_PREFIX}password")
    whole = said("authorization") if authorization else ""
    where: str | Misconfigured = base_url(base) if base else ""
    if isinstance(where, Misconfigured):
        return Misconfigured(f"x-mcp-base-url: {where.why}")
    given = _credentials("", key, token, username, password)
    if len(given) > 1:
        return Misconfigured(ONLY_ONE)
    if not where:
        if given or username or password:
            return Misconfigured(NEEDS_BASE)
        # A bare Authorization header may be meant for anybody between the client and us.
        return None
    if whole:
        if given or username or password:
            return Misconfigured("Authorization header with credentials")
        given = (Raw(whole),)
    elif not given:
        lone = "No password" if username else "No username" if password else "Base URL without credentials"
        return Misconfigured(lone)
    told = _unsendable(given[0])
    return Misconfigured(told) if told is not None else Access(where, given[0])


def _credentials(authorization: str, key: str, token: str, username: str, password: str) -> tuple[Credential, ...]:
    given: list[Credential] = []
    if authorization:
        given.append(Raw(authorization))
    if key:
        given.append(ApiKey(key))
    if token:
        given.append(AccessToken(token))
    if username and password:
        given.append(Password(username, password))
    return tuple(given)


def _unsendable(credential: Credential) -> str | None:
    if any(_UNSENDABLE.search(value) for value in credential.headers().values()):
        named = {ApiKey: "API key", AccessToken: "access token", Raw: "authorization"}.get(type(credential), "password")
        return f"The {named} has a line break or a character that no HTTP header can hold. Correct it"
    return None
