"""The file of attacks on every engine, and how an answer to one of them is judged."""

import json
from pathlib import Path

from pegboard.core.databases.rows import QueryAnswer, QueryRows

FILE = Path(__file__).parents[2] / "corpus" / "sql_attacks.json"


def corpus() -> list[dict[str, str]]:
    cases: list[dict[str, str]] = json.loads(FILE.read_text())
    return cases


def held(expected: str, told: QueryAnswer) -> bool:
    match expected:
        case "refuse":
            return not isinstance(told, QueryRows)
        case "allow":
            return isinstance(told, QueryRows)
        case "capped":
            return not isinstance(told, QueryRows) or told.truncation is not None
        case "harmless":
            return "secret" not in repr(told)
        case "bounded":
            return True  # it came back, within the deadline of whoever asked
    raise AssertionError(expected)
