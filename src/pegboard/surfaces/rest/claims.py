"""What a tool claims of itself, as a JSON body."""

from typing_extensions import TypedDict

from pegboard.core.tool import ToolSpec


class Hints(TypedDict):
    """With the protocol's defaults for what it does not say. Claims of the server, nothing more."""

    readOnly: bool
    destructive: bool
    idempotent: bool
    openWorld: bool


def hints_shape(spec: ToolSpec) -> Hints:
    claims = spec.hints
    return {
        "readOnly": claims.read_only,
        "destructive": claims.destructive,
        "idempotent": claims.idempotent,
        "openWorld": claims.open_world,
    }
