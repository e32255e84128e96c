"""The files of a new toolset (`pegboard toolset new`)."""

import re
from collections.abc import Mapping
from typing import Final

from pegboard.core.model.ids import BadId, ToolsetId, parse_toolset_id

_MANIFEST: Final = """\
# What this toolset brings. Every key: docs/reference/toolset-yaml.md in Pegboard.
id: {id}
name: {name}
version: 0.1.0
description: Two small tools to begin with.

tools:
  - id: count_words
    entrypoint: {package}.text:count_words
  - id: days_until
    entrypoint: {package}.dates:days_until
    # renderer: key-value

# Packages that your tools import:
# requirements:
#   - httpx>=0.27

# Secrets that your tools ask for. Values are set where the toolset is imported:
# secrets:
#   - API_KEY
"""

_TEXT: Final = '''\
"""Tools about texts. A function's annotations and docstring are all that a model needs to call it."""

from dataclasses import dataclass


@dataclass
class Count:
    words: int
    longest: str


def count_words(text: str, shortest: int = 1) -> Count:
    """Count the words of a text, and find the longest.

    Args:
        text: The text to look at.
        shortest: Words with fewer letters are not counted.
    """
    words = [word for word in text.split() if len(word) >= shortest]
    return Count(len(words), max(words, key=len, default=""))
'''

_DATES: Final = '''\
"""Tools about dates. Values arrive as what the annotations say: this one gets a real date, never a text."""

from datetime import date
from typing import Annotated, Literal


def days_until(
    day: Annotated[date, "The day to wait for, such as 2030-01-31."],
    unit: Annotated[Literal["days", "weeks"], "What to count in."] = "days",
) -> float:
    """Tell how long it is until a day. Below zero, it has passed."""
    days = (day - date.today()).days
    return days if unit == "days" else round(days / 7, 1)
'''

_README: Final = """\
# {name}

A toolset for Pegboard: plain Python functions that AI models can call.

| file | what it is |
|---|---|
| `toolset.yaml` | what the toolset brings; each tool names its function |
| `{package}/` | the functions |
| `test_{package}.py` | tests of them: they are functions, so call them |

Try it:

    pegboard toolset check .
    pegboard toolset import .
    pegboard tools call {id}:count_words '{{"text": "a peg for every tool"}}'

Change a function, or add one and name it in `toolset.yaml`. Then import the folder again: you are told what changes
before anything does.
"""

_TEST: Final = '''\
"""The tools are functions, so their tests call them."""

from datetime import date, timedelta

from {package}.dates import days_until
from {package}.text import Count, count_words


def test_words_are_counted() -> None:
    assert count_words("a peg for every tool") == Count(words=5, longest="every")
    assert count_words("a peg for every tool", shortest=2).words == 4
    assert count_words("") == Count(words=0, longest="")


def test_days_are_counted_from_today() -> None:
    assert days_until(date.today() + timedelta(days=14)) == 14
    assert days_until(date.today() - timedelta(days=7), unit="weeks") == -1
'''


def new_toolset(id: str) -> Mapping[str, str] | BadId:
    """The files of a new toolset by their names, with slashes; or why it cannot have this id."""
    match parse_toolset_id(id):
        case BadId() as bad:
            return bad
        case known:
            return _files(known)


def _files(id: ToolsetId) -> Mapping[str, str]:
    words = {"id": _quote_id(id), "name": _title(id), "package": _package(id)}
    package = words["package"]
    return {
        "toolset.yaml": _MANIFEST.format(**words),
        f"{package}/text.py": _TEXT,
        f"{package}/dates.py": _DATES,
        "README.md": _README.format(**{**words, "id": id}),
        f"test_{package}.py": _TEST.format(**words),
    }


def _quote_id(id: str) -> str:
    """An id of digits, or one such as `null`, is a text too."""
    return id if re.fullmatch(r"[a-z][a-z0-9_-]*", id) and id not in ("null", "true", "false") else f'"{id}"'


def _title(id: str) -> str:
    return id.replace("-", " ").replace("_", " ").strip().capitalize() or id


def _package(id: str) -> str:
    """A name of its own, so that it hides no module of the same name that a tool imports."""
    return f"{re.sub('[^a-z0-9_]', '_', id)}_tools" if not id[0].isdigit() else f"tools_{re.sub('[^a-z0-9_]', '_', id)}"
