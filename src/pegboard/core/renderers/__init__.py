"""How a person is shown a call: the renderers there are, what each takes, and one call rendered by one of them."""

from .catalogue import CATALOGUE, DEFAULT_RENDERER, NAMES, Renderer, renderer
from .checking import config_problems, renderer_problem
from .interpolation import ROOTS
from .rendering import Around, Rendered, rendered, returned

__all__ = [
    "CATALOGUE",
    "DEFAULT_RENDERER",
    "NAMES",
    "ROOTS",
    "Around",
    "Rendered",
    "Renderer",
    "config_problems",
    "rendered",
    "renderer",
    "renderer_problem",
    "returned",
]
