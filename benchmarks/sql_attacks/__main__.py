"""`python -m benchmarks.sql_attacks FILE [--json] [--dialect NAME] [--seconds N]`."""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import anyio

from benchmarks import table
from benchmarks.sql_attacks.case import BadFileError, Case, read
from benchmarks.sql_attacks.judging import Judge, Verdict
from benchmarks.sql_attacks.stage import NotHereError
from benchmarks.sql_attacks.stages import STAGES
from pegboard.core.database import Limits

OUTCOMES = ("refused", "harmless", "answered", "harmed", "broke")


async def played(cases: Iterable[Case], limits: Limits) -> tuple[list[Verdict], dict[str, str]]:
    """The verdicts in the file's order, and why a dialect could not be played."""
    given = [*cases]
    verdicts: dict[str, Verdict] = {}
    absent: dict[str, str] = {}
    for dialect in dict.fromkeys(case.dialect for case in given):
        if dialect not in STAGES:
            absent[dialect] = f"no stage plays {dialect!r}"
            continue
        with tempfile.TemporaryDirectory() as room:
            folder = Path(room) / "database"
            folder.mkdir()
            try:
                async with STAGES[dialect](folder) as stage:
                    judge = Judge(stage, Path(room) / "watched", limits)
                    try:
                        for case in given:
                            if case.dialect == dialect:
                                verdicts[case.id] = await judge.judged(case)
                    finally:
                        await judge.aclose()
            except NotHereError as error:
                absent[dialect] = str(error)
    return [verdicts[case.id] for case in given if case.id in verdicts], absent


def shown(verdicts: Sequence[Verdict]) -> str:
    rows = []
    for dialect in dict.fromkeys(verdict.case.dialect for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.case.dialect == dialect]
        for kind, chosen in (
            ("attacks", [each for each in own if each.case.expect != "allow"]),
            ("benign", [each for each in own if each.case.expect == "allow"]),
        ):
            counts = Counter(each.outcome for each in chosen)
            held = sum(each.held for each in chosen)
            rows.append([dialect, kind, str(len(chosen)), *(str(counts[name]) for name in OUTCOMES), str(held)])
    return table.render(("engine", "cases", "played", *OUTCOMES, "held"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sql_attacks", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="one object with a verdict for each case")
    parser.add_argument("--dialect", action="append", help="only this one; may be given several times")
    parser.add_argument("--seconds", type=float, default=2.0, help="what a statement may take")
    given = parser.parse_args()
    try:
        cases = [case for case in read(given.file) if not given.dialect or case.dialect in given.dialect]
    except BadFileError as error:
        print(error, file=sys.stderr)
        return 2
    verdicts, absent = anyio.run(played, cases, Limits(seconds=given.seconds))
    if given.json:
        print(json.dumps({"cases": [each.as_json() for each in verdicts], "not_played": absent}, indent=1))
    else:
        print(shown(verdicts))
        for each in verdicts:
            if not each.held:
                print(
                    f"{each.case.id} ({each.case.dialect}, expected {each.case.expect}): {each.outcome}: {each.words}"
                )
        for dialect, why in absent.items():
            print(f"{dialect}: not played: {why}")
    return 0 if all(each.held for each in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
