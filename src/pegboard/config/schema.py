"""The JSON Schema of pegboard.yaml, for editors. Written out by: python -m pegboard.config.schema"""

import json
from pathlib import Path
from typing import Final

from pegboard.core.tool import JsonObject

from .keys import PEGBOARD

SETTINGS_SCHEMA_FILE: Final = Path(__file__).with_name("pegboard.schema.json")


def settings_schema() -> JsonObject:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pegboard.yaml",
        **PEGBOARD.schema(),
    }


def settings_schema_text() -> str:
    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SETTINGS_SCHEMA_FILE.write_text(settings_schema_text(), encoding="utf-8")
