"""How a source is reached, in words for whoever decides about it: what will run, and what it will get."""

from collections.abc import Mapping
from typing import Final, assert_never
from urllib.parse import urlsplit

from .docspace.connection import DocSpace
from .own import Image, Own
from .redact import is_secret, safe_text
from .said import LONGEST, plainly
from .server import Connection, Container, Http, Stdio

_HIDDEN: Final = "[hidden]"


def reach_words(connection: Connection) -> str:
    """Of variables and headers only the names, and nothing that looks like a secret."""
    match connection:
        case Stdio(command, args, env, _):
            line = " ".join(_word(arg) for arg in (command, *_shown(args)))
            return f"runs {line}{_with('the variables', env)}"
        case Http(url, _, headers, _):
            return f"is reached at {plainly(_place(url))}{_with('the headers', headers)}"
        case Container(image):
            return _image(image)
        case Own():
            return "runs functions and commands of its own"
        case DocSpace(url):
            return f"is reached at {plainly(_place(url))}" if url else "is reached where its callers say"
        case _:
            assert_never(connection)


def _image(image: Image) -> str:
    line = " ".join(_word(arg) for arg in (image.image, *_shown(image.args)))
    gets = [what for what, given in (("the network", image.network), ("its workspace", image.workspace)) if given]
    return f"runs the image {line}{' with ' + ' and '.join(gets) if gets else ''}{_with('the variables', image.env)}"


def _with(what: str, given: Mapping[str, str]) -> str:
    names = sorted(given)
    return f", with {what} {', '.join(map(plainly, names))}" if names else ""


def _shown(args: tuple[str, ...]) -> list[str]:
    """What follows a flag that is named like a secret is one."""
    flags = ("", *args)
    return [
        _HIDDEN if flag.startswith("-") and "=" not in flag and is_secret(flag.lstrip("-")) else arg
        for flag, arg in zip(flags, args, strict=False)
    ]


def _word(text: str) -> str:
    return plainly(safe_text(text, LONGEST))


def _place(url: str) -> str:
    """Without its path and query, which may hold a key."""
    try:
        split = urlsplit(url)
    except ValueError:
        return "a place that cannot be told"
    if not split.scheme or not split.hostname:
        return safe_text(url, LONGEST) if url.startswith("${") else "a place that cannot be told"
    return f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
