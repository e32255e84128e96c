"""The JSON Schema of pegboard.yaml, for editors. Written out by: python -m pegboard.config.schema"""

import json
from pathlib import Path
from typing import Final

from pegboard.core.tool import JsonObject

from .keys import PEGBOARD

FILE: Final = Path(__file__).with_name("pegboard.schema.json")


def json_schema() -> JsonObject:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pegboard.yaml",
        **PEGBOARD.schema(),
    }


def json_schema_text() -> str:
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(json_schema_text(), encoding="utf-8")
