"""Hostile programs by the gateway's own road: every run is answered and in the activity, and nothing of it is left."""

import os
from collections import Counter
from pathlib import Path

import anyio
import psutil
import pytest
from benchmarks.escapes.cases import read
from tests.gateway.programs.programs import Place, place

from pegboard.core.json.values import Json
from pegboard.core.model.settings import CodeLimits, CodeSettings, PythonSandbox
from pegboard.ports.sandbox import Sandbox
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

pytestmark = pytest.mark.anyio

ATTACKS = Path(__file__).parents[2] / "providers" / "sandbox" / "attacks"
CALLS = "for number in range(4):\n    await files.add(a=number, b=1)\n"
CHOSEN = {
    *("F01", "F18", "F19", "N01", "P02", "P04", "P07", "P11", "P17", "P18", "P19", "K04", "K10", "R01", "R08", "R14"),
    *("R19", "R28", "I01", "I07", "W01", "W04", "W05", "W10", "W13"),
}
AT_ONCE = 4


def programs(*, twice: bool) -> list[str]:
    """Each attack, every other one after it has called a tool; or `twice`, so and so."""
    chosen = [
        case.code for file in sorted(ATTACKS.glob("*.yaml")) for case in read(file) if case.id.split()[0] in CHOSEN
    ]
    assert len(chosen) == len(CHOSEN)
    if twice:
        return [before + code for code in chosen for before in ("", CALLS)]
    return [(CALLS if number % 2 else "") + code for number, code in enumerate(chosen)]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.behaviour("programs.accounted_for", "code.hostile_hour")
@pytest.mark.parametrize("python", [PythonSandbox.MONTY, PythonSandbox.FULL])
@pytest.mark.parametrize("twice", [False, pytest.param(True, marks=pytest.mark.soak)])
async def test_every_hostile_program_is_answered_and_in_the_activity(
    tmp_path: Path, python: PythonSandbox, twice: bool
) -> None:
    settings = CodeSettings(python=python, check=False, limits=CodeLimits(cpu=2))
    full = FullSandbox()
    sandboxes: dict[PythonSandbox, Sandbox] = {PythonSandbox.FULL: full}
    before = _children()
    answered: Counter[str] = Counter()
    hostile = programs(twice=twice)
    turns = anyio.CapacityLimiter(AT_ONCE)
    try:
        async with place(tmp_path, settings=settings, sandboxes=sandboxes, patience=200) as here:

            async def run(id: str, code: str) -> None:
                async with turns:
                    answer = await here.answers(code, id=id, timeout_s=2)
                answered[id] += 1
                assert isinstance(answer["tool_calls"], list)

            async with anyio.create_task_group() as tasks:
                for number, code in enumerate(hostile):
                    tasks.start_soon(run, f"run-{number}", code)
            _accounted_for(here, hostile, answered)
    finally:
        await full.aclose()
    with anyio.fail_after(60):
        while _children() - before:  # noqa: ASYNC110 - no event tells that a killed process is gone
            await anyio.sleep(0.05)


def _accounted_for(here: Place, hostile: list[str], answered: Counter[str]) -> None:
    ids = [f"run-{number}" for number in range(len(hostile))]
    assert answered == Counter(ids)
    records = here.house.audit.records
    runs = Counter(record.call.id for record in records if record.call.name == "python_execution")
    assert runs == Counter(ids)
    nested: Counter[Json] = Counter(record.call.parent for record in records if record.call.name == "add")
    # A program whose worker was slow to start may be ended by the clock before its last call.
    assert set(nested) <= {id for id, code in zip(ids, hostile, strict=True) if code.startswith(CALLS)}
    assert all(count <= 4 for count in nested.values())
    assert len(here.called("add")) == nested.total()


def _children() -> set[int]:
    return {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)}
