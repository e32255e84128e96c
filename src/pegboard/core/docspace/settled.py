"""From what the settings say, with references followed, to whom the operator speaks for: one method, or why not."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .base_url import base_url_problems, normalize_base_url
from .connection import CallerCredentialRules
from .credential import AccessToken, ApiKey, Credential, DocSpaceAccess, Password, RawAuthorization, explain_unsendable
from .misconfigured import DocSpaceMisconfiguration


@dataclass(frozen=True, slots=True)
class DocSpaceCredentialValues:
    """Values as they are, around which white space means nothing, and where nothing is as good as not said."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    authorization: str = field(default="", repr=False)
    base_url_written: str = ""
    """The base URL as the file says it, with its references. Messages quote this one: a value may be a secret."""


def resolve_operator_access(
    said: DocSpaceCredentialValues, lends: CallerCredentialRules | None
) -> DocSpaceAccess | DocSpaceMisconfiguration | None:
    """All that is wrong, at once. `None` where the operator has no credentials, and each caller is to lend its own."""
    place = said.base_url.strip()
    methods = tuple(_methods(said))
    faults = base_url_problems(place, said.base_url_written) if place else ()
    if wrong := [*faults, *_problems(said, methods, lends)]:
        return DocSpaceMisconfiguration("\n".join(wrong))
    return DocSpaceAccess(normalize_base_url(place), methods[0]) if methods else None


def _methods(said: DocSpaceCredentialValues) -> Iterator[Credential]:
    if value := said.authorization.strip():
        yield RawAuthorization(value)
    if value := said.api_key.strip():
        yield ApiKey(value)
    if value := said.auth_token.strip():
        yield AccessToken(value)
    if (name := said.username.strip()) and (value := said.password.strip()):
        yield Password(name, value)


def _problems(
    said: DocSpaceCredentialValues, methods: tuple[Credential, ...], lends: CallerCredentialRules | None
) -> Iterator[str]:
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
    yield from (told for method in methods if (told := explain_unsendable(method)) is not None)
