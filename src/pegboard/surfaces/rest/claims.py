"""What a tool claims of itself, as a JSON body."""

from typing_extensions import TypedDict

from pegboard.core.tool import ToolSpec


class Hints(TypedDict):
    """Claims of its provider, nothing more; `null` where it does not say."""

    readOnly: bool | None
    destructive: bool | None
    idempotent: bool | None
    openWorld: bool | None


def hints_shape(spec: ToolSpec) -> Hints:
    claims = spec.annotations or {}

    def claimed(name: str) -> bool | None:
        said = claims.get(name)
        return said if isinstance(said, bool) else None

    return {
        "readOnly": claimed("readOnlyHint"),
        "destructive": claimed("destructiveHint"),
        "idempotent": claimed("idempotentHint"),
        "openWorld": claimed("openWorldHint"),
    }
