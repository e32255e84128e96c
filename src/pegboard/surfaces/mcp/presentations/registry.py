"""All presentations by name."""

from collections.abc import Callable
from typing import assert_never

import anyio

from pegboard.core.model.settings import PresentationMode
from pegboard.surfaces.mcp.presentations.base import Presentation
from pegboard.surfaces.mcp.presentations.code import CodePresentation
from pegboard.surfaces.mcp.presentations.deferred_tools import DeferredPresentation
from pegboard.surfaces.mcp.presentations.search import AutoPresentation, MetaPresentation, SearchPresentation
from pegboard.surfaces.mcp.services import PresentationServices


def presentation_of(
    presented: PresentationMode,
    services: PresentationServices,
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
            return MetaPresentation(services, ready)
        case PresentationMode.SEARCH:
            return SearchPresentation(services, ready)
        case PresentationMode.DEFERRED:
            return DeferredPresentation(services, ready, key)
        case PresentationMode.CODE:
            return CodePresentation(services, ready)
        case PresentationMode.AUTO:
            return AutoPresentation(services, ready)
        case _:
            assert_never(presented)
