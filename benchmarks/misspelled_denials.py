"""`python -m benchmarks.misspelled_denials [tools.jsonl …]`: how many tools a misspelled denial locks (ADR 16).

Each name is misspelled in every way of one edit, and in random ways of two, and looked for among the names of its set.
A file holds one JSON object with a `name` a line; without any, the 23 names of DocSpace are measured.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

from benchmarks import table
from pegboard.config.docspace_toolsets import tool_ids
from pegboard.core.model.references import misspellings

LETTERS = ascii_lowercase + "_"
PAIRS_OF_EDITS = 40
"""Random ways of two edits a name."""
HEADINGS = ("names", "edits", "misspellings", "intended tool locked", "locked on average", "at most")


@dataclass(frozen=True, slots=True)
class Row:
    names: str
    edits: int
    misspelled: int
    caught: int
    locked: int
    most: int


def one_edit(name: str) -> Iterator[str]:
    """Every way to leave a letter out, to swap two neighbours, to replace a letter or to add one."""
    for at in range(len(name) + 1):
        start, end = name[:at], name[at:]
        if end:
            yield start + end[1:]
        if len(end) > 1:
            yield start + end[1] + end[0] + end[2:]
        for letter in LETTERS:
            if end:
                yield start + letter + end[1:]
            yield start + letter + end


def two_edits(name: str) -> Iterator[str]:
    dice = random.Random(name)
    for _ in range(PAIRS_OF_EDITS):
        yield dice.choice([*one_edit(dice.choice([*one_edit(name)]))])


def measure(label: str, names: Sequence[str], edits: int, misspelled: Callable[[str], Iterator[str]]) -> Row:
    known = {*names}
    total = caught = locked = most = 0
    for name in names:
        # What is another tool's name is no misspelling that anything could see.
        for text in {*misspelled(name)} - known - {""}:
            near = misspellings(text, names)
            total, caught, locked = total + 1, caught + (name in near), locked + len(near)
            most = max(most, len(near))
    return Row(label, edits, total, caught, locked, most)


def main(files: Sequence[Path], most_names: int) -> None:
    sets = [("docspace", [id.name for id in tool_ids()])]
    for file in files:
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        sets.append((file.parent.name, sorted({row["name"] for row in rows})))
    lines: list[tuple[str, ...]] = []
    for label, names in sets:
        chosen = names if len(names) <= most_names else random.Random(label).sample(names, most_names)
        for edits, misspelled in ((1, one_edit), (2, two_edits)):
            row = measure(f"{label} ({len(chosen)})", chosen, edits, misspelled)
            share = f"{100 * row.caught / row.misspelled:.1f} %"
            mean = f"{row.locked / row.misspelled:.2f}"
            lines.append((row.names, str(edits), f"{row.misspelled:,}", share, mean, str(row.most)))
    sys.stdout.write(f"{table.render(HEADINGS, lines)}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--names", type=int, default=200, help="at most so many names of a set")
    asked = parser.parse_args()
    main(asked.files, asked.names)
