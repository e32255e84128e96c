"""Asking for what a source offers beside tools: who is asked, if the view is given it, and what came of it.

What a view is not given does not exist for it: both are told by the same value.
"""

from collections.abc import Callable, Container, Mapping
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


@dataclass(frozen=True)
class Unasked(Failed):
    """The source needs of its caller what this one did not send. It was asked nothing, so another may be."""


Answer: TypeAlias = Told | Declined | Failed


def directed(
    ask: Ask, offered: Offered, policy: Policy, fits: Fits, past: Container[Source] = ()
) -> Directed | NotOffered:
    """Those who are `past` are not asked again."""
    match ask.method:
        case Method.READ:
            uri = _text(ask.params, "uri")
            source = source_of(uri, offered, policy, fits, past)
            return NotOffered(uri) if source is None else Directed(source, ask.method, ask.params, ask.headers)
        case Method.GET:
            name = _text(ask.params, "name")
            found = offered.prompts.get(WireName(name))
            if found is None or found[0] in past:
                return NotOffered(name)
            return Directed(found[0], ask.method, {**ask.params, "name": found[1].name}, ask.headers)
        case Method.COMPLETE:
            return _completion(ask, offered, policy, fits, past)
        case _:
            assert_never(ask.method)


def source_of(uri: str, offered: Offered, policy: Policy, fits: Fits, past: Container[Source] = ()) -> Source | None:
    """The first that listed the resource; else the first that had a template of its form."""
    for source in offered.holders(uri):
        if source not in past:
            return source
    for pattern, source in offered.forms:
        if source in past:
            continue
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


def _completion(
    ask: Ask, offered: Offered, policy: Policy, fits: Fits, past: Container[Source]
) -> Directed | NotOffered:
    """Of an argument of a prompt, or of a variable of a template, which is named by its text."""
    about = ask.params.get("ref")
    ref: Mapping[str, Json] = about if isinstance(about, dict) else {}
    if ref.get("type") == "ref/prompt":
        name = _text(ref, "name")
        found = offered.prompts.get(WireName(name))
        if found is None or found[0] in past:
            return NotOffered(name)
        return Directed(found[0], ask.method, {**ask.params, "ref": {**ref, "name": found[1].name}}, ask.headers)
    uri = _text(ref, "uri")
    having = [source for pattern, source in offered.forms if pattern == uri and source not in past]
    source = having[0] if having else source_of(uri, offered, policy, fits, past)
    return NotOffered(uri) if source is None else Directed(source, ask.method, ask.params, ask.headers)


def _text(params: Mapping[str, Json], key: str) -> str:
    value = params.get(key)
    return value if isinstance(value, str) else ""
