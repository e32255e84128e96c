"""How a person is shown a call: the renderers there are, what each takes, and one call rendered by one of them."""

from .catalogue import CATALOGUE, NAMES, Renderer, renderer
from .checking import config_problems, renderer_problem
from .interpolation import ROOTS
from .rendering import Around, Rendered, rendered, returned

__all__ = [
    "CATALOGUE",
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
