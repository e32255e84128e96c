"""Every presentation by its name: the one place that knows them all."""

from collections.abc import Callable
from typing import assert_never

import anyio

from pegboard.core.presentations import Presented
from pegboard.gateway.gateway import Gateway

from .auto import Auto
from .code import Code
from .deferred import Deferred
from .meta import Meta
from .presentation import Presentation
from .search import Search


def presentation_of(
    presented: Presented,
    gateway: Gateway,
    ready: anyio.Event | None = None,
    *,
    key: Callable[[], bytes] | None = None,
) -> Presentation | None:
    """Of a gateway that is not all there before the event. `None`: every tool as itself, which has its own road.

    What clients keep for themselves is signed with the `key`.
    """
    match presented:
        case Presented.DIRECT:
            return None
        case Presented.META:
            return Meta(gateway, ready)
        case Presented.SEARCH:
            return Search(gateway, ready)
        case Presented.DEFERRED:
            return Deferred(gateway, ready, key)
        case Presented.CODE:
            return Code(gateway, ready)
        case Presented.AUTO:
            return Auto(gateway, ready)
        case _:
            assert_never(presented)
