"""One prompt, resource or resource template as its source describes it: its key, and the JSON object as it came."""

from dataclasses import dataclass, field
from typing import Final

from .tool import JsonObject, canonical


@dataclass(frozen=True)
class Prompt:
    name: str
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Resource:
    uri: str
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Template:
    pattern: str
    """The `uriTemplate`: the form of many URIs."""
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Offers:
    """All that one source offers beside its tools."""

    prompts: tuple[Prompt, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[Template, ...] = ()


NOTHING: Final = Offers()


def same_offers(one: Offers, other: Offers) -> bool:
    """By their texts: to Python 1, 1.0 and True are equal, to a client they are three things."""
    return one is other or (_keys(one) == _keys(other) and all(map(_same_body, _bodies(one), _bodies(other))))


def _keys(offers: Offers) -> tuple[tuple[str, ...], ...]:
    return (
        tuple(prompt.name for prompt in offers.prompts),
        tuple(resource.uri for resource in offers.resources),
        tuple(template.pattern for template in offers.templates),
    )


def _bodies(offers: Offers) -> tuple[JsonObject, ...]:
    return tuple(each.body for each in (*offers.prompts, *offers.resources, *offers.templates))


def _same_body(one: JsonObject, other: JsonObject) -> bool:
    return one is other or canonical(one) == canonical(other)
