"""One prompt, resource or resource template as its source describes it: its key, and the JSON object as it came."""

from dataclasses import dataclass, field
from typing import Final

from .tool import JsonObject, canonical_json


@dataclass(frozen=True)
class PromptEntry:
    name: str
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ResourceEntry:
    uri: str
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ResourceTemplate:
    pattern: str
    """The `uriTemplate`: the form of many URIs."""
    body: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ProviderResources:
    """All that one source offers beside its tools."""

    prompts: tuple[PromptEntry, ...] = ()
    resources: tuple[ResourceEntry, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()


NO_RESOURCES: Final = ProviderResources()


def is_same_resources(one: ProviderResources, other: ProviderResources) -> bool:
    """By their texts: to Python 1, 1.0 and True are equal, to a client they are three things."""
    return one is other or (_keys(one) == _keys(other) and all(map(_is_same_body, _bodies(one), _bodies(other))))


def _keys(offers: ProviderResources) -> tuple[tuple[str, ...], ...]:
    return (
        tuple(prompt.name for prompt in offers.prompts),
        tuple(resource.uri for resource in offers.resources),
        tuple(template.pattern for template in offers.templates),
    )


def _bodies(offers: ProviderResources) -> tuple[JsonObject, ...]:
    return tuple(each.body for each in (*offers.prompts, *offers.resources, *offers.templates))


def _is_same_body(one: JsonObject, other: JsonObject) -> bool:
    return one is other or canonical_json(one) == canonical_json(other)
