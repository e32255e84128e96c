"""What each operation of the API was really asked and answered once: the examples of the OpenAPI document."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

EXAMPLES_FILE: Final = Path(__file__).with_name("examples.json")
_JSON: Final = "application/json"


def add_examples(document: dict[str, Any]) -> None:
    """Puts an example beside each schema that has one."""
    for methods in document["paths"].values():
        for operation in methods.values():
            known = _recorded_examples().get(operation["operationId"], {})
            if "body" in known and _JSON in (content := operation.get("requestBody", {}).get("content", {})):
                content[_JSON]["example"] = known["body"]
            for status, response in operation["responses"].items():
                if "answer" in known and status.startswith("2") and _JSON in (content := response.get("content", {})):
                    content[_JSON]["example"] = known["answer"]


@cache
def _recorded_examples() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(EXAMPLES_FILE.read_text("utf-8"))
    return found
