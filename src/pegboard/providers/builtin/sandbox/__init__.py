"""Programs that models write, run where they can do no harm."""

from .monty import MontySandbox

__all__ = ["MontySandbox"]
