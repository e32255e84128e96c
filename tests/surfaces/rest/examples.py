"""The examples of the OpenAPI document, chosen among what the tests of the API were really answered.

PEGBOARD_RECORDED=recorded.jsonl python -m pytest tests/surfaces/rest
python -m tests.surfaces.rest.tour recorded.jsonl
python -m tests.surfaces.rest.examples recorded.jsonl
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.surfaces.rest.conforming import faults

from pegboard.surfaces.rest.app import EXAMPLES_FILE, document

JSON = "application/json"
MOST_ITEMS = 2
LONGEST_TEXT = 300
LONGEST = 9_000
RICH = 1_200
"""Characters: an example near this is worth more than one that says nearly nothing, or everything."""

_PLACES = re.compile(r"(?:/[\w.+-]+)*/(?:tmp|site-packages|\.venv)(?:/[\w.+-]+)*")


def main() -> None:
    recorded: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in Path(sys.argv[1]).read_text("utf-8").splitlines():
        each = json.loads(line)
        recorded[each["operation"]].append(each)
    found = {id: example for id in sorted(operations()) if (example := _chosen(id, recorded[id])) is not None}
    EXAMPLES_FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    missing = sorted({*operations()} - {*found})
    print(f"{len(found)} operations have an example, {len(missing)} have none: {', '.join(missing) or 'all do'}")


def operations() -> dict[str, dict[str, Any]]:
    """Those that answer with JSON."""
    all = (operation for methods in document()["paths"].values() for operation in methods.values())
    return {each["operationId"]: each for each in all if answer_of(each) is not None}


def answer_of(operation: dict[str, Any]) -> dict[str, Any] | None:
    """What is said of the JSON that a good answer holds."""
    for status, response in operation["responses"].items():
        if status.startswith("2") and JSON in response.get("content", {}):
            said: dict[str, Any] = response["content"][JSON]
            return said
    return None


def body_of(operation: dict[str, Any]) -> dict[str, Any] | None:
    said: dict[str, Any] | None = operation.get("requestBody", {}).get("content", {}).get(JSON)
    return said


def _chosen(id: str, recorded: list[dict[str, Any]]) -> dict[str, Any] | None:
    operation = operations()[id]
    answer, body = answer_of(operation), body_of(operation)
    assert answer is not None
    fitting: list[tuple[float, str, dict[str, Any]]] = []
    for each in recorded:
        example = {"answer": _short(each["answer"])}
        if body is not None:
            example["body"] = _short(each["sent"])
        text = json.dumps(example, sort_keys=True, ensure_ascii=False)
        if len(text) > LONGEST or not _is_plain(text) or faults(answer["schema"], example["answer"]):
            continue
        if body is not None and (example["body"] is None or faults(body["schema"], example["body"], closed=False)):
            continue
        fitting.append((abs(len(text) - RICH), text, example))
    return min(fitting)[2] if fitting else None


def _is_plain(text: str) -> bool:
    """Tests send odd things, too: those are no examples."""
    return text.isprintable() and "s3cret" not in text and not re.search(r"(.)\1{15}", text)


def _short(value: Any) -> Any:
    match value:
        case list():
            return [_short(each) for each in value[:MOST_ITEMS]]
        case dict():
            return {key: _hidden(key, _short(each)) for key, each in [*value.items()][:40]}
        case str():
            placed = _PLACES.sub(lambda found: f"/srv/pegboard/{found.group().rpartition('/')[2]}", value)
            return placed if len(placed) <= LONGEST_TEXT else f"{placed[:LONGEST_TEXT]}…"
        case _:
            return value


def _hidden(key: str, value: Any) -> Any:
    return "pegboard_example" if key == "token" and isinstance(value, str) else value


if __name__ == "__main__":
    main()
