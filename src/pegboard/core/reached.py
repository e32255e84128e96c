"""How a source is reached, in words for whoever decides about it: what will run, and what it will get."""

from collections.abc import Mapping
from typing import Final, assert_never
from urllib.parse import urlsplit

from .docspace.connection import DocSpace
from .own import ContainerImage, OwnTools
from .redact import is_secret, redact_line
from .said import MAX_NAME_CHARS, quote_name
from .server import Connection, Container, Http, Stdio

_HIDDEN_TEXT: Final = "[hidden]"


def describe_connection(connection: Connection) -> str:
    """Of variables and headers only the names, and nothing that looks like a secret."""
    match connection:
        case Stdio(command, args, env, _):
            line = " ".join(_safe_word(arg) for arg in (command, *_redact_arguments(args)))
            return f"runs {line}{_names_only('the variables', env)}"
        case Http(url, _, headers, _):
            return f"is reached at {quote_name(_url_origin(url))}{_names_only('the headers', headers)}"
        case Container(image):
            return _describe_image(image)
        case OwnTools():
            return "runs functions and commands of its own"
        case DocSpace(url):
            return f"is reached at {quote_name(_url_origin(url))}" if url else "is reached where its callers say"
        case _:
            assert_never(connection)


def _describe_image(image: ContainerImage) -> str:
    line = " ".join(_safe_word(arg) for arg in (image.image, *_redact_arguments(image.args)))
    gets = [what for what, given in (("the network", image.network), ("its workspace", image.workspace)) if given]
    return (
        f"runs the image {line}{' with ' + ' and '.join(gets) if gets else ''}{_names_only('the variables', image.env)}"
    )


def _names_only(what: str, given: Mapping[str, str]) -> str:
    names = sorted(given)
    return f", with {what} {', '.join(map(quote_name, names))}" if names else ""


def _redact_arguments(args: tuple[str, ...]) -> list[str]:
    """What follows a flag that is named like a secret is one."""
    flags = ("", *args)
    return [
        _HIDDEN_TEXT if flag.startswith("-") and "=" not in flag and is_secret(flag.lstrip("-")) else arg
        for flag, arg in zip(flags, args, strict=False)
    ]


def _safe_word(text: str) -> str:
    return quote_name(redact_line(text, MAX_NAME_CHARS))


def _url_origin(url: str) -> str:
    """Without its path and query, which may hold a key."""
    try:
        split = urlsplit(url)
    except ValueError:
        return "a place that cannot be told"
    if not split.scheme or not split.hostname:
        return redact_line(url, MAX_NAME_CHARS) if url.startswith("${") else "a place that cannot be told"
    return f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
