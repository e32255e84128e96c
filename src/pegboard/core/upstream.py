"""The servers that one caller may know of, with the counts of what is locked there."""

from typing import assert_never

from .catalogue import (
    Catalogue,
    Health,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
    is_listing_known,
)
from .counts import locked_counts
from .ids import BuiltinKey, ProviderKey, ServerKey
from .offers import ResourcesOutOfView, resource_visibility
from .policy import Policy
from .resolve import Resolution
from .tool import JsonObject


def list_upstream_servers(catalogue: Catalogue, policy: Policy, resolution: Resolution) -> JsonObject:
    """A server is told of if a tool of it is in the view, or if the view would have whatever it lists. What a toolset
    brings itself is told of alike, without the id of a server.

    Of one that has not listed anything it is told that nothing is callable: that nothing is said means that all is.
    """
    seen = {id.source for id in resolution.names}
    opened = resource_visibility(catalogue, policy, resolution.view)
    counted = locked_counts(resolution)
    servers = [
        _entry(key, word.health, dict(counted.get(key, {} if is_listing_known(word) else {"callable": 0})))
        for key, word in catalogue.listings.items()
        if not isinstance(key, BuiltinKey) and (key in seen or not isinstance(opened[key], ResourcesOutOfView))
    ]
    return {"servers": [*servers]}


def _entry(key: ProviderKey, health: Health, tally: dict[str, int]) -> JsonObject:
    entry: JsonObject = {
        "id": str(key),
        "serverId": key.server if isinstance(key, ServerKey) else None,
        "toolsetId": key.toolset,
        "health": health_word(health),
    }
    return {**entry, "tools": {**tally}} if tally else entry


def health_word(health: Health) -> str:
    match health:
        case ProviderUp():
            return "up"
        case ProviderStart():
            return "starting"
        case ProviderDown():
            return "down"
        case ProviderNeedsSignIn():
            return "needs_sign_in"
        case ProviderAsleep():
            return "asleep"
        case ProviderOff():
            return "off"
        case _:
            assert_never(health)
