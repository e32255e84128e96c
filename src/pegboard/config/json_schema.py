"""JSON Schemas of toolset.yaml and pegboard.yaml, for editors: `python -m pegboard.config.json_schema`."""

import json
from pathlib import Path
from typing import Final

from pegboard.config.keys.root import PEGBOARD
from pegboard.config.manifest.keys import COMMAND_SECTION, CONTAINER, OVERRIDE, SECRET, SERVER, TOOL, TOOLSET
from pegboard.core.json.values import Json, JsonObject

# The JSON Schema of pegboard.yaml, for editors. Written out by: python -m pegboard.config.json_schema

SETTINGS_SCHEMA_FILE: Final = Path(__file__).with_name("pegboard.schema.json")


def settings_schema() -> JsonObject:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pegboard.yaml",
        **PEGBOARD.schema(),
    }


def settings_schema_text() -> str:
    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


TOOLSET_SCHEMA_FILE: Final = Path(__file__).with_name("manifest") / "toolset.schema.json"
_DEFINITIONS: Final = {
    "tool": TOOL,
    "server": SERVER,
    "container": CONTAINER,
    "command": COMMAND_SECTION,
    "override": OVERRIDE,
    "secret": SECRET,
}


def toolset_schema() -> JsonObject:
    """Each kind of entry by itself, because some may stand under more than one spelling of their key."""
    schemas = {name: part.schema() for name, part in _DEFINITIONS.items()}
    names = {_canonical_text(schema): name for name, schema in schemas.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "toolset.yaml",
        **{name: _reference_or_inline(inner, names) for name, inner in TOOLSET.schema().items()},
        "$defs": {name: _replace_inner(schema, names) for name, schema in schemas.items()},
    }


def toolset_schema_text() -> str:
    return json.dumps(toolset_schema(), indent=2, ensure_ascii=False) + "\n"


def _reference_or_inline(value: Json, names: dict[str, str]) -> Json:
    if isinstance(value, dict) and (name := names.get(_canonical_text(value))) is not None:
        return {"$ref": f"#/$defs/{name}"}
    return _replace_inner(value, names)


def _replace_inner(value: Json, names: dict[str, str]) -> Json:
    if isinstance(value, dict):
        return {name: _reference_or_inline(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [_reference_or_inline(inner, names) for inner in value]
    return value


def _canonical_text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    SETTINGS_SCHEMA_FILE.write_text(settings_schema_text(), encoding="utf-8")
    TOOLSET_SCHEMA_FILE.write_text(toolset_schema_text(), encoding="utf-8")
