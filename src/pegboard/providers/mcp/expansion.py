"""A connection with its `${…}` references replaced, and the eraser of their values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from pegboard.children.environment import inherited_environment
from pegboard.children.erasing import SecretFilter, is_secret_name, substituted_values
from pegboard.core.server import Connection, Http, NoOAuth, OAuth, Stdio, require_stdio_or_http
from pegboard.ports import Expand, UnresolvedReference


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
