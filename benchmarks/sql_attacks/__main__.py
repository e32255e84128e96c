"""`python -m benchmarks.sql_attacks FILE [--json] [--dialect NAME] [--seconds N]`."""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from benchmarks import table
from benchmarks.sql_attacks.case import BadFileError, Case, read
from benchmarks.sql_attacks.judging import Judge, Verdict
from benchmarks.sql_attacks.stage import NotHereError
from benchmarks.sql_attacks.stages import STAGES
from pegboard.core.model.databases import QueryLimits

OUTCOMES = ("refused", "harmless", "answered", "harmed", "broke")


async def played(
    cases: Iterable[Case], limits: QueryLimits, *, with_control: bool = False
) -> tuple[list[Verdict], dict[str, str]]:
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
                continue
        if with_control:
            refused = [each for each in verdicts.values() if each.case.dialect == dialect and each.needs_control]
            verdicts |= {each.case.id: each for each in await controlled(dialect, refused, limits)}
    return [verdicts[case.id] for case in given if case.id in verdicts], absent


async def controlled(dialect: str, refused: Sequence[Verdict], limits: QueryLimits) -> list[Verdict]:
    """Each refused statement where nothing guards, on a shop of its own."""
    found: list[Verdict] = []
    while len(found) < len(refused):
        with tempfile.TemporaryDirectory() as room:
            folder = Path(room) / "database"
            folder.mkdir()
            async with STAGES[dialect](folder) as stage:
                judge = Judge(stage, Path(room) / "watched", limits)
                for verdict in refused[len(found) :]:
                    found.append(await to_thread.run_sync(judge.controlled, verdict))
                    try:
                        await to_thread.run_sync(stage.reset)
                    except Exception as error:  # noqa: BLE001 - a statement that took the server down: begin again
                        print(f"{dialect}: begun again after {verdict.case.id}: {error}", file=sys.stderr)
                        break
    return found


def shown(verdicts: Sequence[Verdict]) -> str:
    rows = []
    for dialect in dict.fromkeys(verdict.case.dialect for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.case.dialect == dialect]
        for kind, chosen in (
            ("attacks", [each for each in own if each.case.expect != "allow"]),
            ("benign", [each for each in own if each.case.expect == "allow"]),
        ):
            counts = Counter(each.outcome for each in chosen)
            held = sum(each.held and not each.proves_nothing for each in chosen)
            nothing = sum(each.held and each.proves_nothing for each in chosen)
            counted = (str(counts[name]) for name in OUTCOMES)
            rows.append([dialect, kind, str(len(chosen)), *counted, str(held), str(nothing)])
    return table.render(("engine", "cases", "played", *OUTCOMES, "held", "proves nothing"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sql_attacks", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="one object with a verdict for each case")
    parser.add_argument("--dialect", action="append", help="only this one; may be given several times")
    parser.add_argument("--seconds", type=float, default=2.0, help="what a statement may take")
    parser.add_argument("--no-control", action="store_true", help="do not try what was refused without the guard")
    given = parser.parse_args()
    try:
        cases = [case for case in read(given.file) if not given.dialect or case.dialect in given.dialect]
    except BadFileError as error:
        print(error, file=sys.stderr)
        return 2
    play = partial(played, with_control=not given.no_control)
    verdicts, absent = anyio.run(play, cases, QueryLimits(seconds=given.seconds))
    if given.json:
        print(json.dumps({"cases": [each.as_json() for each in verdicts], "not_played": absent}, indent=1))
    else:
        print(shown(verdicts))
        for each in verdicts:
            if not each.held:
                print(
                    f"{each.case.id} ({each.case.dialect}, expected {each.case.expect}): {each.outcome}: {each.words}"
                )
        for each in verdicts:
            if each.proves_nothing:
                print(f"{each.case.id} ({each.case.dialect}) proves nothing: without the guard, {each.control}")
        for dialect, why in absent.items():
            print(f"{dialect}: not played: {why}")
    return 0 if all(each.held for each in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
