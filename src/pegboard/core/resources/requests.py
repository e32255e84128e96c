"""Asking for what a source offers beside tools: who is asked, if the view is given it, and what came of it.

What a view is not given does not exist for it: both are told by the same value.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Final, TypeAlias, assert_never
from urllib.parse import unquote

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import SourceKey, WireName
from pegboard.core.policy.policy import Policy
from pegboard.core.resources.visibility import ResourceView, is_denied

TemplateMatcher: TypeAlias = Callable[[str, str], bool]
"""Whether a URI template has the form of a URI: template, URI. Never raises."""


_MAX_ESCAPES: Final = 8
"""How often a text may be escaped again. What is left then is no address that any server reads."""


class ResourceMethod(Enum):
    """By the protocol's own names."""

    READ = "resources/read"
    GET = "prompts/get"
    COMPLETE = "completion/complete"


@dataclass(frozen=True)
class ResourceRequest:
    method: ResourceMethod
    params: JsonObject
    """As the client sent them, members that nobody here knows included."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False, compare=False)
    """The caller's own HTTP headers, names in lower case. They hold credentials: neither recorded nor shown."""


@dataclass(frozen=True)
class RoutedRequest:
    """A question that may be asked, in the words of the source it goes to. Only `directed` makes one."""

    source: SourceKey
    method: ResourceMethod
    params: JsonObject
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False, compare=False)


@dataclass(frozen=True)
class NotVisible:
    """Nothing of this name or URI is there for this view."""

    key: str


@dataclass(frozen=True)
class ResourceResult:
    """The source's answer: the protocol's result object, as it came."""

    result: JsonObject


@dataclass(frozen=True)
class ResourceRefusal:
    """The source's own error, as the protocol has it."""

    code: int
    message: str
    data: Json = None


@dataclass(frozen=True)
class ResourceFailure:
    """The source broke off, timed out or answered nonsense."""

    why: str


@dataclass(frozen=True)
class MissingCallerInput(ResourceFailure):
    """The source needs of its caller what this one did not send. It was asked nothing, so another may be."""


ResourceAnswer: TypeAlias = ResourceResult | ResourceRefusal | ResourceFailure


def route_request(
    ask: ResourceRequest, offered: ResourceView, policy: Policy, fits: TemplateMatcher, past: Container[SourceKey] = ()
) -> RoutedRequest | NotVisible:
    """Those who are `past` are not asked again."""
    match ask.method:
        case ResourceMethod.READ:
            uri = _text_param(ask.params, "uri")
            source = source_for_uri(uri, offered, policy, fits, past)
            return NotVisible(uri) if source is None else RoutedRequest(source, ask.method, ask.params, ask.headers)
        case ResourceMethod.GET:
            name = _text_param(ask.params, "name")
            found = offered.prompts.get(WireName(name))
            if found is None or found[0] in past:
                return NotVisible(name)
            return RoutedRequest(found[0], ask.method, {**ask.params, "name": found[1].name}, ask.headers)
        case ResourceMethod.COMPLETE:
            return _route_completion(ask, offered, policy, fits, past)
        case _:
            assert_never(ask.method)


def source_for_uri(
    uri: str, offered: ResourceView, policy: Policy, fits: TemplateMatcher, past: Container[SourceKey] = ()
) -> SourceKey | None:
    """The first that listed the resource; else the first that had a template of its form."""
    for source in offered.sources_of(uri):
        if source not in past:
            return source
    for pattern, source in offered.patterns:
        if source in past:
            continue
        if fits(pattern, uri) and not any(
            is_denied(source, spelling, policy) for spelling in (uri, normalize_uri(uri))
        ):
            return source
    return None


def normalize_uri(uri: str) -> str:
    """As a server may understand it: without escapes, steps back and doubled slashes. A caller chooses how it writes a
    URI, and no way of writing may lead past a denial."""
    for _ in range(_MAX_ESCAPES):
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


def _route_completion(
    ask: ResourceRequest, offered: ResourceView, policy: Policy, fits: TemplateMatcher, past: Container[SourceKey]
) -> RoutedRequest | NotVisible:
    """Of an argument of a prompt, or of a variable of a template, which is named by its text."""
    about = ask.params.get("ref")
    ref: Mapping[str, Json] = about if isinstance(about, dict) else {}
    if ref.get("type") == "ref/prompt":
        name = _text_param(ref, "name")
        found = offered.prompts.get(WireName(name))
        if found is None or found[0] in past:
            return NotVisible(name)
        return RoutedRequest(found[0], ask.method, {**ask.params, "ref": {**ref, "name": found[1].name}}, ask.headers)
    uri = _text_param(ref, "uri")
    having = [source for pattern, source in offered.patterns if pattern == uri and source not in past]
    source = having[0] if having else source_for_uri(uri, offered, policy, fits, past)
    return NotVisible(uri) if source is None else RoutedRequest(source, ask.method, ask.params, ask.headers)


def _text_param(params: Mapping[str, Json], key: str) -> str:
    value = params.get(key)
    return value if isinstance(value, str) else ""


# Templates of one source that have the form of what another has: a read may go elsewhere than people think.

MAX_PATTERNS: Final = 100
MAX_COMPARISONS: Final = 1_000
"""URIs of others against which each template is held: enough to notice one that fits everything."""

_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class TemplateOverlap:
    pattern: str
    source: SourceKey
    uri: str
    other: SourceKey
    answered_by: SourceKey


def template_overlaps(offered: ResourceView, fits: TemplateMatcher) -> Iterator[TemplateOverlap]:
    """Each template that fits something of another source, with the first such thing."""
    forms = offered.patterns[:MAX_PATTERNS]
    if len({source for _, source in forms} | {source for source, _ in offered.resources.values()}) < 2:
        return
    # A URI of each form, as a client may fill it in, and who answers for it: the first whose form it has.
    filled = [(_EXPRESSION.sub("1", pattern), source) for pattern, source in forms]
    listed = [(uri, source) for uri, (source, _) in islice(offered.resources.items(), MAX_COMPARISONS - len(filled))]
    for place, (pattern, source) in enumerate(forms):
        for number, (uri, other) in enumerate((*filled, *listed)):
            if other == source or not fits(pattern, uri):
                continue
            first = source if number < len(filled) and place < number else other
            yield TemplateOverlap(pattern, source, uri, other, first)
            break
