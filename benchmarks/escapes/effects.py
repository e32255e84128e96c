"""What an attack brought about, by the words that the recorded attacks have for it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.escapes.cases import Case
from benchmarks.escapes.watching import Usage
from benchmarks.escapes.world import World

MOST_MEMORY = 900 << 20
MOST_PROCESSES = 40
MOST_THREADS = 80
ALWAYS = frozenset(
    {"leak_host_file", "leak_env", "leak_host_object", "net", "write_host_file", "exec", "host_crash", "host_state"}
)
"""What no attack may do, whatever its record names."""
KNOWN = ALWAYS | {"procs", "threads", "mem", "hang", "tool_flood", "orphans"}
_WHO = re.compile(r"\buid=\d+\b")
_PASSWORDS = re.compile(r"^root:[^:\n]*:0:0:", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """What was seen of one attack."""

    effects: tuple[str, ...]
    text: str = ""
    """Everything that it printed, answered or sent."""
    error: str | None = None
    seconds: float = 0.0
    is_lacking: bool = False
    """The sandbox lacks what the attack begins with, so that its step never ran."""


def observed(world: World, text: str, usage: Usage, calls: int, most_calls: int, connections: int) -> Iterator[str]:
    """Effects on the world and on the machine."""
    written = world.written()
    if world.secret in text or _PASSWORDS.search(text):
        yield "leak_host_file"
    if world.variable in text:
        yield "leak_env"
    if world.value in text:
        yield "leak_host_object"
    if world.connections > connections:
        yield "net"
    if written:
        yield "write_host_file"
    if _WHO.search(text) or any(_WHO.search(content) for content in written.values()):
        yield "exec"
    yield from used(usage)
    if calls > most_calls:
        yield "tool_flood"


def used(usage: Usage) -> Iterator[str]:
    """Effects on the machine alone."""
    if usage.processes > MOST_PROCESSES:
        yield "procs"
    if usage.threads > MOST_THREADS:
        yield "threads"
    if usage.memory > MOST_MEMORY:
        yield "mem"


def unwanted(case: Case, seen: Seen) -> list[str]:
    """Effects that break the promise. A record with words that are not known here is held to all that are."""
    forbidden = KNOWN if set(case.must_not) - KNOWN else ALWAYS | set(case.must_not)
    return [effect for effect in seen.effects if effect in forbidden]


def works(case: Case, control: Seen) -> bool:
    """Whether the attack does without a sandbox what it is recorded for."""
    wanted = set(case.must_not) & KNOWN or KNOWN
    return bool(wanted & set(control.effects))


def counted(verdicts: Sequence[Mapping[str, object]]) -> dict[str, object]:
    return {
        "cases": len(verdicts),
        "held": sum(bool(one["held"]) for one in verdicts),
        "attack_step_ran": sum(bool(one["ran"]) for one in verdicts),
        "held_and_works_without": sum(bool(one["held"] and one["works_without"]) for one in verdicts),
    }
