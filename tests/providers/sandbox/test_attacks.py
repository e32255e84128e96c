"""Attacks on both sandboxes, by programs: all of them are held, and do their harm where nothing holds them.

Each kind of sandbox is in a process of its own, so that an attack which succeeds ends that one and is seen.
"""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from benchmarks.escapes.attacking import hosted, without
from benchmarks.escapes.cases import Case, read
from benchmarks.escapes.effects import Seen, unwanted, works
from benchmarks.escapes.world import World, world

from pegboard.ports.sandbox import SandboxLimits

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent / "attacks"
CASES = [case for file in sorted(HERE.glob("*.yaml")) for case in read(file)]
LIMITS = SandboxLimits(cpu=2, wall=15, stdout=64 << 10)
SHORT = 1.0
"""Seconds of the wall clock for what may go on without end."""
SHORTEST = 0.3
"""Seconds for what only computes or waits, from its first moment on."""
AT_ONCE = 5
GRACE = 60.0

ONLY_GO_ON = (
    *("P15", "P18", "R07", "R08", "R09", "R10", "R11", "R12", "R13", "R16", "R25", "R28", "R32", "R36"),
    *("W07", "W14", "W15"),
)
WORK_WITHOUT = (
    *("F01", "F04", "F12", "F14", "F18", "F19", "N01", "N02", "N03", "P01", "P02", "P03", "P07", "P09", "P11", "P19"),
    *("R05", "R17", "I01", "I02", "I03", "I05", "I07"),
)


def wall_seconds(case: Case) -> float | None:
    if case.id.split()[0] in ONLY_GO_ON:
        return SHORTEST
    return SHORT if "hang" in case.must_not else None


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path / "canary", 0) as found:
        yield found


def test_every_attack_has_a_name_of_its_own_and_says_what_it_must_not_do() -> None:
    numbers = [case.id.split()[0] for case in CASES]
    assert len(numbers) == len(set(numbers)) >= 120
    assert [case.id for case in CASES if not case.must_not] == []
    go_on = [case for case in CASES if case.id.split()[0] in ONLY_GO_ON]
    assert (len(go_on), [case.id for case in go_on if "hang" not in case.must_not]) == (len(ONLY_GO_ON), [])


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.behaviour("code.attacks")
@pytest.mark.parametrize("mode", ["monty", "full"])
async def test_every_attack_is_held(mode: str, made: World) -> None:
    seen: dict[str, Seen] = {}
    async with hosted(made, mode, LIMITS, GRACE) as host:
        turns = anyio.CapacityLimiter(AT_ONCE)

        async def attack(case: Case) -> None:
            async with turns:
                seen[case.id] = await host.attack(case, wall_seconds(case))

        async with anyio.create_task_group() as attacks:
            for case in CASES:
                attacks.start_soon(attack, case)
        left = await host.aclose()
    came_through = {case.id: (found, seen[case.id]) for case in CASES if (found := unwanted(case, seen[case.id]))}
    assert came_through == {}
    assert (len(seen), left) == (len(CASES), [])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.behaviour("code.attacks")
async def test_the_same_attacks_work_where_there_is_no_sandbox(made: World) -> None:
    chosen = [case for case in CASES if case.id.split()[0] in WORK_WITHOUT]
    assert len(chosen) == len(WORK_WITHOUT)
    found = {case.id: await without(made, case, GRACE, until_it_works=True) for case in chosen}
    assert {case.id: found[case.id] for case in chosen if not works(case, found[case.id])} == {}
