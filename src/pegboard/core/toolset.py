"""A toolset: a namespace, an override layer and a switch over the tools of many providers."""

from dataclasses import dataclass

from .ids import ToolsetId
from .server import Origin


@dataclass(frozen=True)
class Toolset:
    id: ToolsetId
    origin: Origin
    name: str = ""
    version: str = ""
    description: str = ""
    enabled: bool = True
    user_mcp: bool = True
    """Made by adding one standalone server. It only routes the UI; nothing decides by it."""
