"""Every presentation by its name: the one place that knows them all."""

from collections.abc import Callable
from typing import assert_never

import anyio

from pegboard.core.presentations import PresentationMode
from pegboard.gateway.gateway import Gateway

from .auto import AutoPresentation
from .code import CodePresentation
from .deferred import DeferredPresentation
from .meta import MetaPresentation
from .presentation import Presentation
from .search import SearchPresentation


def presentation_of(
    presented: PresentationMode,
    gateway: Gateway,
    ready: anyio.Event | None = None,
    *,
    key: Callable[[], bytes] | None = None,
) -> Presentation | None:
    """Of a gateway that is not all there before the event. `None`: every tool as itself, which has its own road.

    What clients keep for themselves is signed with the `key`.
    """
    match presented:
        case PresentationMode.DIRECT:
            return None
        case PresentationMode.META:
            return MetaPresentation(gateway, ready)
        case PresentationMode.SEARCH:
            return SearchPresentation(gateway, ready)
        case PresentationMode.DEFERRED:
            return DeferredPresentation(gateway, ready, key)
        case PresentationMode.CODE:
            return CodePresentation(gateway, ready)
        case PresentationMode.AUTO:
            return AutoPresentation(gateway, ready)
        case _:
            assert_never(presented)
