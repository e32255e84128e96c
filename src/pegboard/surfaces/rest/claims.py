"""What a tool claims of itself, as a JSON body."""

from typing_extensions import TypedDict

from pegboard.core.tool import ToolSpec


class ToolHintsInfo(TypedDict):
    """Claims of its provider, nothing more; `null` where it does not say."""

    readOnly: bool | None
    destructive: bool | None
    idempotent: bool | None
    openWorld: bool | None


def hints_info(spec: ToolSpec) -> ToolHintsInfo:
    claims = spec.annotations or {}

    def boolean_claim(name: str) -> bool | None:
        said = claims.get(name)
        return said if isinstance(said, bool) else None

    return {
        "readOnly": boolean_claim("readOnlyHint"),
        "destructive": boolean_claim("destructiveHint"),
        "idempotent": boolean_claim("idempotentHint"),
        "openWorld": boolean_claim("openWorldHint"),
    }
