"""Asking for what a source offers beside tools: who is asked, if the view is given it, and what came of it.

What a view is not given does not exist for it: both are told by the same value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias, assert_never
from urllib.parse import unquote

from .ids import Source, WireName
from .offers import Offered, denied
from .policy import Policy
from .tool import Json, JsonObject

Fits: TypeAlias = Callable[[str, str], bool]
"""Whether a URI template has the form of a URI: template, URI. Never raises."""


_MOST_ESCAPES: Final = 8
"""How often a text may be escaped again. What is left then is no address that any server reads."""


class Method(Enum):
    """By the protocol's own names."""

    READ = "resources/read"
    GET = "prompts/get"
    COMPLETE = "completion/complete"


@dataclass(frozen=True)
class Ask:
    method: Method
    params: JsonObject
    """As the client sent them, members that nobody here knows included."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False, compare=False)
    """The caller's own HTTP headers, names in lower case. They hold credentials: neither recorded nor shown."""


@dataclass(frozen=True)
class Directed:
    """A question that may be asked, in the words of the source it goes to. Only `directed` makes one."""

    source: Source
    method: Method
    params: JsonObject
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False, compare=False)


@dataclass(frozen=True)
class NotOffered:
    """Nothing of this name or URI is there for this view."""

    key: str


@dataclass(frozen=True)
class Told:
    """The source's answer: the protocol's result object, as it came."""

    result: JsonObject


@dataclass(frozen=True)
class Declined:
    """The source's own error, as the protocol has it."""

    code: int
    message: str
    data: Json = None


@dataclass(frozen=True)
class Failed:
    """The source broke off, timed out or answered nonsense."""

    why: str


Answer: TypeAlias = Told | Declined | Failed


def directed(ask: Ask, offered: Offered, policy: Policy, fits: Fits) -> Directed | NotOffered:
    match ask.method:
        case Method.READ:
            uri = _text(ask.params, "uri")
            source = source_of(uri, offered, policy, fits)
            return NotOffered(uri) if source is None else Directed(source, ask.method, ask.params, ask.headers)
        case Method.GET:
            name = _text(ask.params, "name")
            found = offered.prompts.get(WireName(name))
            if found is None:
                return NotOffered(name)
            return Directed(found[0], ask.method, {**ask.params, "name": found[1].name}, ask.headers)
        case Method.COMPLETE:
            return _completion(ask, offered, policy, fits)
        case _:
            assert_never(ask.method)


def source_of(uri: str, offered: Offered, policy: Policy, fits: Fits) -> Source | None:
    """Whoever lists the resource; else the first that has a template of its form."""
    if (listed := offered.resources.get(uri)) is not None:
        return listed[0]
    for pattern, (source, _) in offered.templates.items():
        if fits(pattern, uri) and not any(denied(source, spelling, policy) for spelling in (uri, plain(uri))):
            return source
    return None


def plain(uri: str) -> str:
    """As a server may understand it: without escapes, steps back and doubled slashes. A caller chooses how it writes a
    URI, and no way of writing may lead past a denial."""
    for _ in range(_MOST_ESCAPES):
        if (read := unquote(uri)) == uri:
            break
        uri = read
    scheme, mark, rest = uri.replace("\\", "/").partition("://")
    host, slash, path = rest.partition("/")
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return f"{scheme.lower()}{mark}{host.lower()}{slash}{'/'.join(steps)}" if mark else uri


def _completion(ask: Ask, offered: Offered, policy: Policy, fits: Fits) -> Directed | NotOffered:
    """Of an argument of a prompt, or of a variable of a template, which is named by its text."""
    about = ask.params.get("ref")
    ref: Mapping[str, Json] = about if isinstance(about, dict) else {}
    if ref.get("type") == "ref/prompt":
        name = _text(ref, "name")
        found = offered.prompts.get(WireName(name))
        if found is None:
            return NotOffered(name)
        return Directed(found[0], ask.method, {**ask.params, "ref": {**ref, "name": found[1].name}}, ask.headers)
    uri = _text(ref, "uri")
    template = offered.templates.get(uri)
    source = source_of(uri, offered, policy, fits) if template is None else template[0]
    return NotOffered(uri) if source is None else Directed(source, ask.method, ask.params, ask.headers)


def _text(params: Mapping[str, Json], key: str) -> str:
    value = params.get(key)
    return value if isinstance(value, str) else ""
