"""What a jailed process says at length: it is bounded, and read where nobody else waits for it."""

import threading

import anyio
import pytest
from tests.providers.sandbox.answering import ECHO, Answering

from pegboard.ports.sandbox import Program, ProgramFailure, RunResult, SandboxLimits
from pegboard.providers.sandbox.jail import run
from pegboard.providers.sandbox.jail.inside.program import ProgramOutput, max_pieces
from pegboard.providers.sandbox.jail.launch import JailFrame, decode_frame
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

pytestmark = pytest.mark.anyio

LIMITS = SandboxLimits(cpu=20, wall=50)
WRITE = """
import os, struct
def write(body, times=1):
    frame = memoryview((struct.pack('<I', len(body)) + body) * times)
    while frame:
        frame = frame[os.write(1, frame):]
"""


async def ran(sandbox: FullSandbox, code: str, host: Answering) -> RunResult:
    with anyio.fail_after(80):
        return await sandbox.run(Program(code, (ECHO,)), host, LIMITS)


@pytest.mark.behaviour("code.flood")
async def test_a_flood_of_short_prints_ends_the_program_by_their_number(full: FullSandbox) -> None:
    host = Answering()
    code = WRITE + """while True: write(b'{"t":"print","s":"x"}', 2_000)"""
    fault = ProgramFailure("RuntimeError", "The program was ended: its process said more than it may print.")
    text = "x" * max_pieces(LIMITS.stdout)
    assert await ran(full, code, host) == RunResult(None, text, error=fault)
    assert host.text == text


@pytest.mark.behaviour("code.flood")
async def test_large_frames_are_read_beside_the_event_loop_and_small_ones_in_it(
    full: FullSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_in_loop: dict[bool, bool] = {}

    def reading(body: bytes) -> JailFrame:
        is_in_loop[len(body) > 100_000] = threading.current_thread() is threading.main_thread()
        return decode_frame(body)

    monkeypatch.setattr(run, "decode_frame", reading)
    host = Answering(lambda _, arguments: len(str(arguments["x"])))
    assert await ran(full, "[await echo('x'), await echo('x' * 200_000)]", host) == RunResult([1, 200_000])
    assert is_in_loop == {False: True, True: False}


@pytest.mark.behaviour("code.flood")
async def test_a_frame_longer_than_all_arguments_may_be_is_not_waited_for(full: FullSandbox) -> None:
    code = WRITE + "os.write(1, struct.pack('<I', 9 << 20))\nwhile True: pass"
    fault = ProgramFailure("RuntimeError", "The program was ended: its process said a frame of 9437184 bytes.")
    assert await ran(full, code, Answering()) == RunResult(error=fault)


@pytest.mark.behaviour("code.flood")
async def test_many_lines_are_all_told_in_fewer_pieces_than_lines(full: FullSandbox) -> None:
    host = Answering()
    code = "import sys\nfor n in range(20_000):\n    print(n, flush=True)\n'end'"
    text = "".join(f"{n}\n" for n in range(20_000))
    assert await ran(full, code, host) == RunResult("end", text)
    assert host.text == text


@pytest.mark.behaviour("code.flood")
@pytest.mark.parametrize(
    ("line", "most"), [("\n", 50_000), ("é\n", 50_000), ("x" * 1_023 + "\n", 90_000), ("\n", 0), ("é" * 600, 3)]
)
def test_output_never_takes_more_pieces_than_it_may(line: str, most: int) -> None:
    pieces: list[str] = []
    output = ProgramOutput(pieces.append, most)
    for _ in range(60_000):
        output.write(line)
        output.flush()
    output.flush_all()
    whole = (line * 60_000).encode()[:most].decode(errors="ignore")
    assert ("".join(pieces), len(pieces) <= max_pieces(most), output.is_truncated) == (whole, True, True)
