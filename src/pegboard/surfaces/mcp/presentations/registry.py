"""All presentations by name."""

from collections.abc import Callable
from typing import assert_never

import anyio

from pegboard.core.model.settings import PresentationMode
from pegboard.surfaces.mcp.gateway_parts import PresentationParts
from pegboard.surfaces.mcp.presentations.base import Presentation
from pegboard.surfaces.mcp.presentations.code import CodePresentation
from pegboard.surfaces.mcp.presentations.deferred_tools import DeferredPresentation
from pegboard.surfaces.mcp.presentations.search import AutoPresentation, MetaPresentation, SearchPresentation


def presentation_of(
    presented: PresentationMode,
    parts: PresentationParts,
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
            return MetaPresentation(parts, ready)
        case PresentationMode.SEARCH:
            return SearchPresentation(parts, ready)
        case PresentationMode.DEFERRED:
            return DeferredPresentation(parts, ready, key)
        case PresentationMode.CODE:
            return CodePresentation(parts, ready)
        case PresentationMode.AUTO:
            return AutoPresentation(parts, ready)
        case _:
            assert_never(presented)
