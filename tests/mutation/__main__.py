"""Break one line in each of some random functions and see whether the suite notices.

    python -m tests.mutation record                  run the suite once and note which test files execute which function
    python -m tests.mutation run --functions 60      break lines and run those test files, the quickest first

Run it in a clone of its own (it edits `src` and puts each line back), under Python 3.12 or newer.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "pegboard"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=ci", "-m", "not soak")
DETECTED, UNDETECTED, UNEXECUTED, GONE = "detected", "undetected", "not executed", "line is gone"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    recording = commands.add_parser("record", help="run the suite once and note what its files execute")
    recording.add_argument("--map", type=Path, default=Path(".cache/executed.json"))
    recording.add_argument("tests", nargs="*", default=["tests"])
    running = commands.add_parser("run", help="break lines and report what is detected")
    running.add_argument("--map", type=Path, default=Path(".cache/executed.json"))
    running.add_argument("--functions", type=int, default=60)
    running.add_argument("--seed", type=int, default=23)
    running.add_argument("--exclude", action="append", default=[], help="module prefix; core/ is always excluded")
    running.add_argument("--part", default="1/1", help="this share of the mutants, for example 1/2")
    running.add_argument("--only-undetected", type=Path, help="the mutants that an earlier --out did not detect")
    running.add_argument("--budget", type=float, default=900, help="seconds for one mutant")
    running.add_argument("--out", type=Path, help="write the results here as JSON")
    chosen = parser.parse_args()
    if chosen.command == "record":
        return record(chosen.map, chosen.tests)
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src"], cwd=ROOT, check=False).returncode:
        parser.error("src has uncommitted changes; this command edits it. Use a clone of its own.")
    if not chosen.map.exists():
        parser.error(f"{chosen.map} does not exist. First: python -m tests.mutation record --map {chosen.map}")
    if chosen.only_undetected:
        earlier = json.loads(chosen.only_undetected.read_text("utf-8"))
        broken = [Mutant(**entry["mutant"]) for entry in earlier if entry["result"] != DETECTED]
    else:
        broken = mutants(SOURCE, chosen.functions, chosen.seed, ["core/", *chosen.exclude])
    part, parts = map(int, chosen.part.split("/"))
    return run(broken[part - 1 :: parts], json.loads(chosen.map.read_text("utf-8")), chosen.budget, chosen.out)


def record(map_path: Path, tests: Sequence[str]) -> int:
    """Run the suite with the recorder in every process and write the map; 1 where a test fails."""
    if not hasattr(sys, "monitoring"):
        sys.exit("recording needs Python 3.12 or newer; this is " + sys.version.split()[0])
    hook = Path(sysconfig.get_path("purelib"), "pegboard_mutation.pth")
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        start = f"from tests.mutation import recorder; recorder.start({folder!r})"
        hook.write_text(f"import sys; sys.path.append({str(ROOT)!r}); {start}\n", "utf-8")
        try:
            words = (*PYTEST, "-n", "2", "--dist", "loadfile", "-p", "tests.mutation.plugin", *tests)
            code = subprocess.run(
                words, cwd=ROOT, env={**os.environ, "PEGBOARD_MUTATION_LOG": folder}, check=False
            ).returncode
        finally:
            hook.unlink()
        map_path.parent.mkdir(parents=True, exist_ok=True)
        map_path.write_text(json.dumps(_read_logs(Path(folder)), indent=1), "utf-8")
    return code


def _read_logs(folder: Path) -> dict[str, object]:
    executed: dict[str, set[str]] = defaultdict(set)
    for log in folder.glob("*.log"):
        for line in log.read_text("utf-8").splitlines():
            test_file, _, function = line.partition("\t")
            if test_file:
                executed[function].add(test_file)
    seconds: dict[str, float] = defaultdict(float)
    for times in folder.glob("*.seconds"):
        for test_file, taken in json.loads(times.read_text("utf-8")).items():
            seconds[test_file] += taken
    return {"executed": {function: sorted(files) for function, files in sorted(executed.items())}, "seconds": seconds}


def run(broken: Iterable[Mutant], recorded: Mapping[str, Mapping[str, object]], budget: float, out: Path | None) -> int:
    results = []
    for mutant in broken:
        files = recorded["executed"].get(f"{mutant.module}:{mutant.first_line}", [])
        assert isinstance(files, list)
        seconds = recorded["seconds"]
        result, detail = _try(mutant, sorted(files, key=lambda file: float(str(seconds.get(file, 0)))), budget)
        results.append({"mutant": asdict(mutant), "result": result, "detail": detail})
        print(f"{result}: {mutant.label}\n    {detail}", flush=True)
        if out:
            out.write_text(json.dumps(results, indent=1), "utf-8")
    for kind in (DETECTED, UNDETECTED, UNEXECUTED, GONE):
        print(f"{sum(entry['result'] == kind for entry in results):4} {kind}")
    return 0


def _try(mutant: Mutant, files: Sequence[str], budget: float) -> tuple[str, str]:
    path = SOURCE / mutant.module
    source = path.read_text("utf-8")
    lines = source.split("\n")
    places = [number for number, line in enumerate(lines) if line == mutant.line]
    if not places:
        return GONE, "the module has no such line"
    place = min(places, key=lambda number: abs(number + 1 - mutant.line_number))
    files = [file for file in files if (ROOT / file).exists()]
    if not files:
        return UNEXECUTED, "no test executes the function"
    lines[place] = mutant.broken_line
    broken_source = "\n".join(lines)
    started = time.monotonic()
    try:
        path.write_text(broken_source, "utf-8")
        done = subprocess.run(
            [*PYTEST, "-x", "--tb=no", *files], cwd=ROOT, capture_output=True, text=True, timeout=budget, check=False
        )
    except subprocess.TimeoutExpired:
        return UNDETECTED, f"not within {budget:.0f} s by {len(files)} test files"
    finally:
        path.write_text(source, "utf-8")
    taken = f"{time.monotonic() - started:.0f} s"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode == 0:
        return UNDETECTED, f"{len(files)} test files pass in {taken}"
    return DETECTED, f"{taken}, {failed[0] if failed else (done.stdout + done.stderr)[-300:]}"


if __name__ == "__main__":
    sys.exit(main())
