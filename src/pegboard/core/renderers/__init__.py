"""How a person is shown a call: the renderers there are, what each takes, and one call rendered by one of them."""

from .catalogue import DEFAULT_RENDERER, RENDERER_NAMES, RENDERERS, Renderer, find_renderer
from .checking import config_problems, renderer_problem
from .interpolation import REFERENCE_ROOTS
from .rendering import RenderContext, RenderedCall, render_call, return_value

__all__ = [
    "DEFAULT_RENDERER",
    "REFERENCE_ROOTS",
    "RENDERERS",
    "RENDERER_NAMES",
    "RenderContext",
    "RenderedCall",
    "Renderer",
    "config_problems",
    "find_renderer",
    "render_call",
    "renderer_problem",
    "return_value",
]
