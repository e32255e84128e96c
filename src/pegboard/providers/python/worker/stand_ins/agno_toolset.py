"""The name that Covalt's module had before: modules that import it get the same."""

from pegboard.providers.python.worker.stand_ins.covalt_toolset import ToolContext, get_context, tool

__all__ = ["ToolContext", "get_context", "tool"]
