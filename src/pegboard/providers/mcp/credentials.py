"""Replaces `${…}` references in a connection, and creates the filter that keeps their values out of logs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from pegboard.core.model.ids import ServerKey
from pegboard.core.model.server import Connection, Http, NoOAuth, OAuth, Stdio, require_stdio_or_http
from pegboard.ports.providers import Expand, UnresolvedReference
from pegboard.processes.child import inherited_environment
from pegboard.processes.output import SecretFilter, is_secret_name, substituted_values


@dataclass(frozen=True)
class ExpandedConnection:
    connection: Stdio | Http
    erase: SecretFilter


def expand_connection(connection: Connection, expand: Expand) -> ExpandedConnection | UnresolvedReference:
    """Read every reference now. The first that stands for nothing is the answer."""
    reached = require_stdio_or_http(connection)
    texts: dict[str, str] = {}
    for text in _connection_texts(reached):
        value = expand(text)
        if isinstance(value, UnresolvedReference):
            return value
        texts[text] = value
    secrets = {part for text, value in texts.items() for part in substituted_values(text, value)}
    match reached:
        case Stdio(command, args, env, cwd):
            granted = {name: texts[value] for name, value in env.items()}
            filled: Stdio | Http = Stdio(
                texts[command],
                tuple(texts[arg] for arg in args),
                granted,
                None if cwd is None else texts[cwd],
            )
            secrets |= {value for name, value in granted.items() if is_secret_name(name)}
        case Http(url, _, headers, oauth):
            sent = {name: texts[value] for name, value in headers.items()}
            filled = replace(reached, url=texts[url], headers=sent, oauth=_expand_oauth(oauth, texts))
            secrets |= _header_secrets(sent)
            if isinstance(filled.oauth, OAuth) and filled.oauth.client_secret is not None:
                secrets.add(filled.oauth.client_secret)
        case _:
            assert_never(reached)
    # What every child is told anyway is no secret: a home directory must stay readable in a path.
    return ExpandedConnection(filled, SecretFilter(secrets - set(inherited_environment().values())))


def _connection_texts(connection: Stdio | Http) -> Iterator[str]:
    match connection:
        case Stdio(command, args, env, cwd):
            yield from (command, *args, *env.values())
            if cwd is not None:
                yield cwd
        case Http(url, _, headers, oauth):
            yield from (url, *headers.values())
            if isinstance(oauth, OAuth):
                said = (oauth.client_id, oauth.client_secret, oauth.client_metadata_url)
                yield from (text for text in said if text is not None)
        case _:
            assert_never(connection)


def _expand_oauth(oauth: OAuth | NoOAuth, texts: Mapping[str, str]) -> OAuth | NoOAuth:
    match oauth:
        case NoOAuth():
            return oauth
        case OAuth(client_id, client_secret, client_metadata_url, scopes):

            def expand_text(text: str | None) -> str | None:
                return None if text is None else texts[text]

            return OAuth(expand_text(client_id), expand_text(client_secret), expand_text(client_metadata_url), scopes)
        case _:
            assert_never(oauth)


def _header_secrets(headers: Mapping[str, str]) -> set[str]:
    """Each whole value, and its words: of `Bearer abc` the server may repeat `abc` alone."""
    return {part for value in headers.values() for part in (value, *value.split()[1:])}


# What a connection sends to say in whose name it asks, beside the headers that were configured for it.


class Authorization(Protocol):
    """Of one server. The raw path and the SDK's sessions ask the same object."""

    @property
    def server(self) -> ServerKey:
        """The one that a person signs in to."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """For the next request: another object after each change, and empty while nobody is signed in."""
        ...

    async def handle_unauthorized(self, sent: Mapping[str, str] | None = None, challenge: str = "") -> bool:
        """A request was answered with 401. True: the credentials are renewed, so ask again, once.

        `sent` are the headers that the request had from here, by which a renewal that came meanwhile is not repeated;
        `challenge` is the answer's `WWW-Authenticate`. Many may ask at once: one renewal serves them all.
        """
        ...

    def mark_rejected(self, challenge: str = "") -> None:
        """The request was answered with 401 again after that: only a person can help."""
        ...

    def handle_forbidden(self, challenge: str) -> bool:
        """A request was answered with 403. Whether it is for want of rights that a person could grant."""
        ...

    async def keep_fresh(self) -> float:
        """Renew ahead of the end, again and again, until that is refused. Then: for how many seconds more what we have
        may still be taken."""
        ...

    def mark_lapsed(self) -> None:
        """What we have is not used any longer: only a person can help."""
        ...
