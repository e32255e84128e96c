"""A server as it may be shown: references as they are, and nothing that could be a secret."""

import re
from collections.abc import Mapping
from typing import Final, assert_never
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from pegboard.core.server import Connection, Http, Server, Stdio
from pegboard.core.tool import Json

from .references import is_only_references

MASK: Final = "***"

_SECRET_KEY: Final = re.compile(
    r"(?:^|[^a-z])(?:key|token|secret|password|passwd|pwd|pass|auth|authorization|bearer|credentials?|cred|signature|sig"
    r"|code|session|cookie|sid|jwt|pat|pin)(?:$|[^a-z])|apikey|accesskey|privatekey|secretkey|authtoken|accesstoken|connectionstring"
    r"|(?:^|[^a-z])(?:dsn)(?:$|[^a-z])",
    re.IGNORECASE,
)
_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_VALUE: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|sk-|pk_|rk_|sk_|xox[abeprs]-|AKIA|ASIA|AIza|ya29\.|npm_|pypi-|hf_)"
    r"(?=[A-Za-z0-9_.-]*[0-9])[A-Za-z0-9_.-]{12,}"
    r"|(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"
    r"|(?<=Bearer )\S+|(?<=Basic )[A-Za-z0-9+/=]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
)
_USERINFO: Final = re.compile(r"(?<=://)[^/?#\s@]+(?=@)")


def masked(server: Server) -> Mapping[str, Json]:
    """The connection as JSON. What is not purely a reference, where secrets are usually kept, is hidden."""
    return masked_connection(server.connection)


def masked_connection(connection: Connection) -> Mapping[str, Json]:
    match connection:
        case Stdio(command, args, env, cwd):
            return {
                "transport": "stdio",
                "command": masked_text(command),
                "args": [*masked_args(args)],
                "env": {name: masked_value(value) for name, value in env.items()},
                "cwd": cwd,
            }
        case Http(url, transport, headers):
            return {
                "transport": transport.value,
                "url": masked_url(url),
                "headers": {name: masked_value(value) for name, value in headers.items()},
            }
        case _:
            assert_never(connection)


def masked_value(value: str) -> str:
    return value if is_only_references(value) else MASK


def masked_args(args: tuple[str, ...]) -> tuple[str, ...]:
    """`--token X` and `--token=X` hide X; so does a value that looks like a well-known kind of secret."""
    shown: list[str] = []
    for place, arg in enumerate(args):
        before = args[place - 1] if place else ""
        option, equals, value = arg.partition("=")
        if before.startswith("-") and "=" not in before and is_secret_key(before) and not arg.startswith("-"):
            shown.append(masked_value(arg))
        elif equals and is_secret_key(option):
            shown.append(f"{option}={masked_value(value)}")
        else:
            shown.append(masked_text(arg))
    return tuple(shown)


def masked_text(text: str) -> str:
    """A text that is no secret by its place, without the secrets that may be in it."""
    shown = masked_url(text) if "://" in text else text
    return _SECRET_VALUE.sub(MASK, shown)


def masked_url(url: str) -> str:
    """User and password, and the values of parameters whose names speak of secrets."""
    shown = _USERINFO.sub(lambda found: masked_value(found.group()), url)
    try:
        split = urlsplit(shown)
    except ValueError:
        return MASK
    if not split.query or "${" in split.query:
        return _query_by_hand(shown)
    pairs = parse_qsl(split.query, keep_blank_values=True)
    query = "&".join(f"{quote(key)}={MASK if is_secret_key(key) else quote(value)}" for key, value in pairs)
    return urlunsplit(split._replace(query=query))


def is_secret_key(name: str) -> bool:
    return _SECRET_KEY.search(_WORD_BREAK.sub("_", name)) is not None


def is_secret_value(value: str) -> bool:
    return _SECRET_VALUE.search(value) is not None or _USERINFO.search(value) is not None


def _query_by_hand(url: str) -> str:
    """A reference may hold what a URL parser would take for the end of the query."""
    start, mark, query = url.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&"))
    shown = (f"{key}{equals}{masked_value(value) if is_secret_key(key) else value}" for key, equals, value in pairs)
    return f"{start}{mark}{'&'.join(shown)}" if mark else url
