"""A connection with its `${…}` references replaced, and the eraser of their values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from pegboard.children.environment import inherited
from pegboard.children.erasing import Eraser, inserted, names_a_secret
from pegboard.core.server import Connection, Http, NoOAuth, OAuth, Stdio, plainly_reached
from pegboard.ports import Expand, Unresolved


@dataclass(frozen=True)
class Expanded:
    connection: Stdio | Http
    erase: Eraser


def expanded(connection: Connection, expand: Expand) -> Expanded | Unresolved:
    """Read every reference now. The first that stands for nothing is the answer."""
    reached = plainly_reached(connection)
    texts: dict[str, str] = {}
    for text in _texts(reached):
        value = expand(text)
        if isinstance(value, Unresolved):
            return value
        texts[text] = value
    secrets = {part for text, value in texts.items() for part in inserted(text, value)}
    match reached:
        case Stdio(command, args, env, cwd):
            granted = {name: texts[value] for name, value in env.items()}
            filled: Stdio | Http = Stdio(
                texts[command],
                tuple(texts[arg] for arg in args),
                granted,
                None if cwd is None else texts[cwd],
            )
            secrets |= {value for name, value in granted.items() if names_a_secret(name)}
        case Http(url, _, headers, oauth):
            sent = {name: texts[value] for name, value in headers.items()}
            filled = replace(reached, url=texts[url], headers=sent, oauth=_signing_in(oauth, texts))
            secrets |= _of_headers(sent)
            if isinstance(filled.oauth, OAuth) and filled.oauth.client_secret is not None:
                secrets.add(filled.oauth.client_secret)
        case _:
            assert_never(reached)
    # What every child is told anyway is no secret: a home directory must stay readable in a path.
    return Expanded(filled, Eraser(secrets - set(inherited().values())))


def _texts(connection: Stdio | Http) -> Iterator[str]:
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


def _signing_in(oauth: OAuth | NoOAuth, texts: Mapping[str, str]) -> OAuth | NoOAuth:
    match oauth:
        case NoOAuth():
            return oauth
        case OAuth(client_id, client_secret, client_metadata_url, scopes):

            def filled(text: str | None) -> str | None:
                return None if text is None else texts[text]

            return OAuth(filled(client_id), filled(client_secret), filled(client_metadata_url), scopes)
        case _:
            assert_never(oauth)


def _of_headers(headers: Mapping[str, str]) -> set[str]:
    """Each whole value, and its words: of `Bearer abc` the server may repeat `abc` alone."""
    return {part for value in headers.values() for part in (value, *value.split()[1:])}
