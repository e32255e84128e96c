"""Whether the walls hold on this machine: forbidden things are tried in a jailed process, and it is looked at from
outside."""

import os
import platform
import re
from collections.abc import Iterator, Mapping
from typing import Final

from pegboard.core.tool import Json
from pegboard.ports.sandbox import (
    HostReply,
    Program,
    ProgramHost,
    RunResult,
    SandboxFunction,
    SandboxLimits,
    SandboxUnavailable,
)

from . import trying
from .launch import JailedProcess, JailLauncher
from .looking import innermost_process
from .run import JailedRun

_LIMITS: Final = SandboxLimits(cpu=20, wall=60, memory=64 << 20, calls=1)
_EXPECTED_STATUS: Final = {
    "Seccomp": "2",
    "NoNewPrivs": "1",
    "CapInh": "0",
    "CapPrm": "0",
    "CapEff": "0",
    "CapBnd": "0",
    "CapAmb": "0",
}
"""What `/proc` says of a process that is walled in, without leading zeros."""
_LOOK_FUNCTION: Final = SandboxFunction("", "looked")


async def probe(launcher: JailLauncher) -> None:
    """Raises `SandboxAway` with the reason when anything does not hold."""
    jailed = await launcher.start()
    try:
        seen = _OutsideObserver(jailed)
        text = trying.probe_program(platform.machine(), _LIMITS.memory * 2)
        ran = await JailedRun(jailed, Program(text, (_LOOK_FUNCTION,)), seen, _LIMITS)()
    finally:
        await jailed.end()
    if reasons := [*_breaches(ran), *seen.reasons]:
        raise SandboxUnavailable("full: the walls do not hold on this machine: " + "; ".join(reasons))


def _breaches(ran: RunResult) -> Iterator[str]:
    if ran.error is not None or not isinstance(ran.result, Mapping) or not ran.result:
        yield f"the program that tries them did not end ({ran.error})"
        return
    for name, outcome in ran.result.items():
        if outcome != "held":
            yield f"a program can {name} ({outcome})"


class _OutsideObserver(ProgramHost):
    """Looks at the process while it waits."""

    def __init__(self, jailed: JailedProcess) -> None:
        self._process = jailed
        self.reasons = ["the process was not seen from outside"]

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        process = innermost_process(self._process.child.pid)
        try:
            told = _process_status(process)
        except OSError as error:
            self.reasons = [f"the process cannot be seen from outside: {error}"]
            return None
        self.reasons = [
            f"{name} of the process is {told.get(name)}, and should be {value}"
            for name, value in _EXPECTED_STATUS.items()
            if (told.get(name, "none").lstrip("0") or "0") != value
        ]
        return None

    def on_output(self, text: str) -> None:
        pass


def _process_status(process: int) -> dict[str, str]:
    """Raises `OSError`."""
    with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as status:
        return dict(re.findall(r"^(\w+):\s*(\S+)", status.read(), re.MULTILINE))


def find_bubblewrap() -> str | None:
    """Where it is installed: in a folder that only the system's own people can change."""
    for folder in ("/usr/bin", "/usr/local/bin", "/bin"):
        if os.access(path := f"{folder}/bwrap", os.X_OK):
            return path
    return None
