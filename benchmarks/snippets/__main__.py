"""How much of Python each sandbox runs: `python -m benchmarks.snippets FILE [--json] [--mode NAME]`.

Each program is checked and run in each mode, as a user's is, and passes when it prints what CPython prints.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from benchmarks import table
from benchmarks.sandboxes import FUNCTIONS, MODES, Tools
from benchmarks.snippets.cases import BadFileError, Canned, Snippet, read
from pegboard.core.json.values import Json
from pegboard.ports.sandbox import (
    CallFailure,
    HostReply,
    Program,
    RunResult,
    Sandbox,
    SandboxFunction,
    SandboxLimits,
    SandboxUnavailable,
)

LIMITS = SandboxLimits(cpu=10, wall=30)


@dataclass(frozen=True)
class Verdict:
    id: str
    mode: str
    passed: bool
    is_lacking: bool
    """It fails because this Python does not have what the program uses, and says so."""
    why: str
    stdout: str
    stage: str = "run"
    """What refused it, if anything did: the check before the run, or the run; `file` where it was not run, because it
    calls a tool that its file does not bring."""


class CannedTools(Tools):
    """Those of every program, and those that a file brings."""

    def __init__(self, canned: Mapping[str, Canned]) -> None:
        super().__init__()
        self._canned = canned

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        if function.name not in self._canned:
            return await super().call(ordinal, function, arguments)
        self.calls += 1
        answer = self._canned[function.name].answer(function.name, arguments)
        return answer.value if answer.raises is None else CallFailure(*answer.raises)


async def judged(snippet: Snippet, mode: str, sandbox: Sandbox) -> Verdict:
    given = {each.name: each for each in FUNCTIONS} | {
        name: SandboxFunction("", name, parameters=tool.parameters) for name, tool in snippet.tools.items()
    }
    if missing := snippet.unprovided(given):
        why = f"the file brings no tool {', '.join(map(repr, missing))}"
        return Verdict(snippet.id, mode, False, False, why, "", "file")
    program = Program(snippet.code, tuple(given.values()))
    try:
        complaints = await sandbox.check(program, LIMITS)
        if complaints:
            why = "; ".join(f"{each.message} (line {each.line})" for each in complaints)
            is_lacking = all(each.is_unsupported for each in complaints)
            return Verdict(snippet.id, mode, False, is_lacking, f"TypeCheckError: {why}", "", "check")
        ran = await sandbox.run(program, CannedTools(snippet.tools), LIMITS)
    except SandboxUnavailable as away:
        return Verdict(snippet.id, mode, False, False, f"cannot run: {away}", "")
    assert isinstance(ran, RunResult)  # the tools here ask nobody
    error = ran.error
    if error is not None:
        place = "" if error.line is None else f" (line {error.line})"
        return Verdict(
            snippet.id, mode, False, error.is_unsupported, f"{error.type}: {error.message}{place}", ran.stdout
        )
    passed = ran.stdout == snippet.expected
    return Verdict(snippet.id, mode, passed, False, "" if passed else "prints something else", ran.stdout)


async def judge(snippets: Sequence[Snippet], modes: Sequence[str]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for mode in modes:
        print(f"measuring {mode}: {len(snippets)} snippets", file=sys.stderr)
        sandbox = MODES[mode]()
        try:
            verdicts += [await judged(snippet, mode, sandbox) for snippet in snippets]
        finally:
            await sandbox.aclose()
    return verdicts


def counts(verdicts: Sequence[Verdict]) -> Mapping[str, Mapping[str, int]]:
    return {
        mode: {
            "snippets": sum(one.mode == mode for one in verdicts),
            "passed": sum(one.mode == mode and one.passed for one in verdicts),
            "lacking": sum(one.mode == mode and one.is_lacking for one in verdicts),
            "checked": sum(one.mode == mode and one.stage == "check" for one in verdicts),
            "without_tools": sum(one.mode == mode and one.stage == "file" for one in verdicts),
        }
        for mode in dict.fromkeys(one.mode for one in verdicts)
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.snippets", description=__doc__)
    parser.add_argument("file", type=Path, help="programs and what CPython prints for them: a JSON array")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    parser.add_argument("--mode", action="append", choices=sorted(MODES), help="only these sandboxes")
    chosen = parser.parse_args(arguments)
    try:
        snippets = read(chosen.file)
    except BadFileError as error:
        print(error, file=sys.stderr)
        return 2
    verdicts = anyio.run(judge, snippets, chosen.mode or [*MODES])
    if chosen.json:
        report = {"benchmark": "snippets", "modes": counts(verdicts), "cases": [asdict(one) for one in verdicts]}
        print(json.dumps(report, ensure_ascii=False, indent=1))
        return 0
    rows = [
        [mode, *(str(count[key]) for key in ("snippets", "passed", "lacking", "checked", "without_tools"))]
        for mode, count in counts(verdicts).items()
    ]
    print(table.render(("mode", "snippets", "passed", "lacking", "refused by the check", "tools missing"), rows))
    for one in verdicts:
        if not one.passed:
            print(f"{one.mode} {one.id}, {one.stage}: {one.why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
