"""From what the settings say, with references followed, to whom the operator speaks for: one method, or why not."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .base_url import base_url, url_faults
from .connection import Lends
from .credential import Access, AccessToken, ApiKey, Credential, Password, Raw, unsendable
from .misconfigured import Misconfigured


@dataclass(frozen=True, slots=True)
class Said:
    """Values as they are, around which white space means nothing, and where nothing is as good as not said."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    authorization: str = field(default="", repr=False)
    base_url_written: str = ""
    """The base URL as the file says it, with its references. Messages quote this one: a value may be a secret."""


def settled(said: Said, lends: Lends | None) -> Access | Misconfigured | None:
    """All that is wrong, at once. `None` where the operator has no credentials, and each caller is to lend its own."""
    place = said.base_url.strip()
    methods = tuple(_methods(said))
    faults = url_faults(place, said.base_url_written) if place else ()
    if wrong := [*faults, *_wrong(said, methods, lends)]:
        return Misconfigured("\n".join(wrong))
    return Access(base_url(place), methods[0]) if methods else None


def _methods(said: Said) -> Iterator[Credential]:
    if value := said.authorization.strip():
        yield Raw(value)
    if value := said.api_key.strip():
        yield ApiKey(value)
    if value := said.auth_token.strip():
        yield AccessToken(value)
    if (name := said.username.strip()) and (value := said.password.strip()):
        yield Password(name, value)


def _wrong(said: Said, methods: tuple[Credential, ...], lends: Lends | None) -> Iterator[str]:
    username, password = said.username.strip(), said.password.strip()
    if username and not password:
        yield "No password"
    if password and not username:
        yield "No username"
    if methods and not said.base_url.strip():
        yield "No API base URL"
    lendable = lends is not None and (lends.headers or (lends.authorization and lends.query))
    if not methods and not username and not password and not lendable:
        yield "No authentication method"
    if len(methods) > 1:
        yield "Multiple authentication methods"
    yield from (told for method in methods if (told := unsendable(method)) is not None)
