"""Servers for display: references as written, secrets masked."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never
from urllib.parse import unquote

from pegboard.config.references import is_only_references
from pegboard.core.json.values import Json
from pegboard.core.model.server import Connection, Container, Http, NoOAuth, OAuth, Server, Stdio
from pegboard.core.model.tool import ContainerImage, OwnTools
from pegboard.core.model.web_api import WebApi

MASK: Final = "***"

_SECRET_KEY: Final = re.compile(
    r"(?:^|[^a-z])(?:key|token|secret|password|passwd|pwd|pass|auth|authorization|bearer|credentials?|cred|signature|sig"
    r"|code|session|cookie|sid|jwt|pat|pin)(?:$|[^a-z])|apikey|accesskey|privatekey|secretkey|authtoken|accesstoken|connectionstring"
    r"|(?:^|[^a-z])(?:dsn)(?:$|[^a-z])",
    re.IGNORECASE,
)
_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Bounded where it looks ahead, so that the time stays in proportion to the text.
_SECRET_VALUE: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|sk-|pk_|rk_|sk_|xox[abeprs]-|AKIA|ASIA|AIza|ya29\.|npm_|pypi-|hf_)"
    r"(?=[A-Za-z0-9_.-]{0,100}[0-9])[A-Za-z0-9_.-]{12,}"
    r"|(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_.-]+"
    r"|(?<=Bearer )\S+|(?<=Basic )[A-Za-z0-9+/=]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
)
_SCHEME: Final = re.compile(r"\A(?:Bearer|Basic|Token|ApiKey) +(?=\$)", re.IGNORECASE)
_USERINFO: Final = re.compile(r"(?<=://)[^/?#\s@]+(?=@)")
_REFERENCE: Final = re.compile(r"(?<!\$)\$\{[^}]*\}")
_PARAMETER: Final = re.compile(r"[?&#;]([^=&#;?\s]+)=((?:\$\{[^}]*\}|[^&#\s])+)")


@dataclass(frozen=True, slots=True)
class SecretSpan:
    """A part of a text that may be a secret, and the name it goes by, if it has one."""

    start: int
    end: int
    name: str = ""


def mask_server(server: Server) -> Mapping[str, Json]:
    """The connection as JSON, without what an export would replace."""
    return mask_connection(server.connection)


def mask_connection(connection: Connection) -> Mapping[str, Json]:
    # The rule is that of exports, and who shows nothing needs none of it.
    from pegboard.config.manifest.secrets import display_args, display_text, display_values

    match connection:
        case Stdio(command, args, env, cwd):
            return {
                "transport": "stdio",
                "command": display_text(command),
                "args": [*display_args(command, args)],
                "env": {**display_values(env)},
                "cwd": cwd,
            }
        case Http(url, transport, headers, oauth):
            return {
                "transport": transport.value,
                "url": display_text(url),
                "headers": {**display_values(headers)},
                **({} if oauth == OAuth() else {"oauth": _mask_oauth(oauth)}),
            }
        case Container(image):
            return {"transport": "container", **_mask_image(image)}
        case OwnTools(digest, python, requirements, secrets):
            return {
                "transport": "own",
                "digest": digest,
                "python": {tool.spec.name: tool.entrypoint for tool in python},
                "requirements": [display_text(each) for each in requirements],
                "secrets": [*secrets],
                "workspace": connection.workspace,
                "containers": {id: {**_mask_image(image)} for id, image in connection.containers.items()},
                "linkedFolder": connection.linked,
            }
        case WebApi() as api:
            return {
                "transport": api.kind,
                "url": display_text(api.base_url),
                "request_credentials": api.lends is not None,
            }
        case _:
            assert_never(connection)


def _mask_image(image: ContainerImage) -> Mapping[str, Json]:
    from pegboard.config.manifest.secrets import display_args, display_text, display_values

    return {
        "image": display_text(image.image),
        "args": [*display_args("", image.args)],
        "env": {**display_values(image.env)},
        "network": image.network,
        "workspace": image.workspace,
    }


def _mask_oauth(oauth: OAuth | NoOAuth) -> Json:
    match oauth:
        case NoOAuth():
            return False
        case OAuth(client_id, client_secret, client_metadata_url, scopes):
            return {
                "client_id": client_id,
                "client_secret": None if client_secret is None else mask_value(client_secret),
                "client_metadata_url": client_metadata_url,
                "scopes": [*scopes],
            }
        case _:
            assert_never(oauth)


def mask_value(value: str) -> str:
    """The word that says how to authorize is no secret, so that what callers send themselves can be read here."""
    return value if is_only_references(_SCHEME.sub("", value)) else MASK


def mask_text(text: str) -> str:
    """A text that is no secret by its place, without the secrets that may be in it."""
    return _mask_spans(text, secrets_in(text))


def secrets_in(text: str) -> tuple[SecretSpan, ...]:
    """User and password of a URL, parameters whose names speak of secrets, and well-known kinds of token."""
    found = [SecretSpan(*match.span()) for match in _SECRET_VALUE.finditer(text)]
    if "://" in text:
        found += [SecretSpan(*match.span(), "password") for match in _USERINFO.finditer(text)]
        found += [
            SecretSpan(*match.span(2), unquote(match.group(1)))
            for match in _PARAMETER.finditer(text)
            if is_secret_key(unquote(match.group(1)))
        ]
    whole = extend_to_references(found, text)
    return _drop_overlaps(span for span in whole if not is_only_references(text[span.start : span.end]))


def is_secret_key(name: str) -> bool:
    return _SECRET_KEY.search(_WORD_BREAK.sub("_", name)) is not None


def extend_to_references(spans: Iterable[SecretSpan], text: str) -> Iterator[SecretSpan]:
    """What looks like the end of a secret may be the middle of a reference."""
    references = [found.span() for found in _REFERENCE.finditer(text)]
    starts, ends = [start for start, _ in references], [end for _, end in references]
    for span in spans:
        # References stand apart and in order, so those that a span meets are neighbours.
        first, beyond = bisect_right(ends, span.start), bisect_left(starts, span.end)
        if first < beyond:
            span = SecretSpan(min(span.start, starts[first]), max(span.end, ends[beyond - 1]), span.name)
        yield span


def _drop_overlaps(spans: Iterable[SecretSpan]) -> tuple[SecretSpan, ...]:
    """In order and without overlaps: of two that overlap, the one that begins first."""
    kept: list[SecretSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)


def _mask_spans(text: str, spans: tuple[SecretSpan, ...]) -> str:
    shown, place = "", 0
    for span in spans:
        shown += text[place : span.start] + MASK
        place = span.end
    return shown + text[place:]
