"""`python -m benchmarks.escapes FILE [--json] [--mode NAME] [--no-control]`: which attacks each sandbox holds.

Each attack runs in each sandbox, and once without any, where it should succeed: one that does not proves little.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from benchmarks import table
from benchmarks.escapes.attacking import AwayError, hosted, without
from benchmarks.escapes.cases import BadFileError, Case, read
from benchmarks.escapes.effects import KNOWN, Seen, counted, unwanted, works
from benchmarks.escapes.world import NoWorldError, World, world
from benchmarks.sandboxes import MODES

_SHOWN = 300
Report = dict[str, object]


async def judged(made: World, cases: Sequence[Case], modes: Sequence[str], with_control: bool) -> Report:
    controls: dict[str, Seen] = {}
    if with_control:
        print(f"measuring without a sandbox: {len(cases)} attacks", file=sys.stderr)
        for case in cases:
            controls[case.id] = await without(made, case)
    verdicts: list[dict[str, object]] = []
    away: dict[str, str] = {}
    orphans: dict[str, int] = {}
    for mode in modes:
        print(f"measuring {mode}: {len(cases)} attacks", file=sys.stderr)
        try:
            async with hosted(made, mode) as host:
                verdicts += [verdict(case, mode, await host.attack(case), controls.get(case.id)) for case in cases]
                orphans[mode] = len(await host.aclose())
        except* AwayError as group:
            away[mode] = str(group.exceptions[0])
    counts = {mode: counted([one for one in verdicts if one["mode"] == mode]) for mode in modes if mode not in away}
    return {"benchmark": "escapes", "modes": counts, "away": away, "orphans": orphans, "cases": verdicts}


def verdict(case: Case, mode: str, seen: Seen, control: Seen | None) -> dict[str, object]:
    broken = unwanted(case, seen)
    return {
        "id": case.id,
        "mode": mode,
        "category": case.category,
        "must_not": list(case.must_not),
        "unknown": sorted(set(case.must_not) - KNOWN),
        "held": not broken,
        "broken": broken,
        "ran": not seen.is_lacking,
        "what_happened": seen.error or seen.text[:_SHOWN],
        "seconds": round(seen.seconds, 3),
        "works_without": None if control is None else works(case, control),
        "without": None
        if control is None
        else {"effects": list(control.effects), "what_happened": (control.error or control.text)[:_SHOWN]},
    }


def told(report: Report) -> str:
    modes, cases, away = report["modes"], report["cases"], report["away"]
    assert isinstance(modes, Mapping)
    assert isinstance(cases, list)
    assert isinstance(away, Mapping)
    headings = ("mode", "attacks", "held", "of which ran", "of which work without", "processes left")
    orphans = report["orphans"]
    assert isinstance(orphans, Mapping)
    rows = [
        [
            mode,
            *(str(count[key]) for key in ("cases", "held", "attack_step_ran", "held_and_works_without")),
            str(orphans[mode]),
        ]
        for mode, count in modes.items()
    ]
    lines = [table.render(headings, rows)]
    lines += [f"{mode}: cannot run here: {why}" for mode, why in away.items()]
    for one in cases:
        state = "held" if one["held"] else "BROKEN: " + ", ".join(one["broken"])
        worked = {None: "", True: "", False: " (nor does it work without a sandbox)"}[one["works_without"]]
        said = " ".join(str(one["what_happened"]).split())[:100]
        lines.append(f"{one['mode']} {one['id']}: {state}{worked}; {said}")
    return "\n".join(lines)


def as_text(report: Report, is_json: bool) -> str:
    text = json.dumps(report, ensure_ascii=False, indent=1) if is_json else told(report)
    # An attack may say half of a character, which no output takes. So written, it is the same to whoever reads JSON.
    return text.encode(errors="backslashreplace").decode()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.escapes", description=__doc__)
    parser.add_argument("file", type=Path, help="attacks with what none may do: a JSON array")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    parser.add_argument("--mode", action="append", choices=sorted(MODES), help="only these sandboxes")
    parser.add_argument("--no-control", action="store_true", help="do not try the attacks without a sandbox")
    chosen = parser.parse_args(arguments)
    try:
        cases = read(chosen.file)
        with world() as made:
            report = anyio.run(judged, made, cases, chosen.mode or [*MODES], not chosen.no_control)
    except (BadFileError, NoWorldError) as error:
        print(error, file=sys.stderr)
        return 2
    print(as_text(report, chosen.json))
    verdicts = report["cases"]
    assert isinstance(verdicts, list)
    return 0 if all(one["held"] for one in verdicts) and not report["away"] else 1


if __name__ == "__main__":
    sys.exit(main())
