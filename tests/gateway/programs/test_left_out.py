"""Calls that a program said and never waited for: loudly told, and no reason to do all else a second time."""

from pathlib import Path

import pytest
from tests.gateway.programs.programs import place, said, ticket_of

from pegboard.core.calls.call import ToolFailure, ToolSuccess
from pegboard.core.model.settings import CodeSettings, PythonSandbox
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

pytestmark = pytest.mark.anyio

AHEAD = """\
ahead = files.read(path="0")
texts = []
for n in (1, 2):
    texts.append(await ahead)
    ahead = files.read(path=str(n))
texts"""
ALL_ELSE = "Everything else was done: do not run the program again. If what was left out is needed, call that alone."
READ = [{"path": "0"}, {"path": "1"}]


@pytest.mark.behaviour("code.left_out")
async def test_a_program_that_came_to_its_end_keeps_its_result_and_tells_what_it_left_out(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        ended = await here.runs(AHEAD)
        answer = await here.answers(AHEAD)
        assert here.called("read") == READ * 2
    assert isinstance(ended, ToolSuccess)
    assert (answer["result"], answer["error"]) == (["what is in 0", "what is in 1"], None)
    assert answer["note"] == f"line 5: files.read() was called and never awaited, so it was NOT done.\n{ALL_ELSE}"
    assert [call["ok"] for call in answer["tool_calls"]] == [True, True]


@pytest.mark.behaviour("code.left_out")
async def test_the_full_python_tells_the_same(tmp_path: Path) -> None:
    full = FullSandbox()
    try:
        async with place(
            tmp_path, settings=CodeSettings(python=PythonSandbox.FULL), sandboxes={PythonSandbox.FULL: full}
        ) as here:
            answer = await here.answers(AHEAD)
            assert here.called("read") == READ
    finally:
        await full.aclose()
    assert (answer["result"], answer["error"]) == (["what is in 0", "what is in 1"], None)
    assert answer["note"] == f"line 5: files.read() was called and never awaited, so it was NOT done.\n{ALL_ELSE}"


@pytest.mark.behaviour("code.left_out")
async def test_many_that_were_left_out_are_counted(tmp_path: Path) -> None:
    calls = "\n".join(f"later = [files.read(path='{line}') for _ in (1, 2)]" for line in range(2, 9))
    async with place(tmp_path, settings=CodeSettings(check=False)) as here:
        note = (await here.answers(f"await files.add(a=1, b=2)\n{calls}"))["note"]
        assert here.called("read") == []
    assert note.splitlines() == [
        *(f"line {n}: files.read() was called, 2 times, and never awaited, so it was NOT done." for n in range(2, 7)),
        "2 more were left out in the same way.",
        ALL_ELSE,
    ]


@pytest.mark.behaviour("code.left_out")
@pytest.mark.parametrize("end", ["'done'", "later"])
async def test_a_program_that_did_nothing_at_all_fails_and_can_be_run_again(tmp_path: Path, end: str) -> None:
    async with place(tmp_path, settings=CodeSettings(check=False)) as here:
        code = f"later = files.read(path='a')\n{end}"
        ended = await here.runs(code)
        answer = await here.answers(code)
        assert here.called("read") == []
    assert isinstance(ended, ToolFailure)
    assert "note" not in answer
    if end == "later":
        why = "The result cannot be given back: result is of type coroutine, which is not JSON; did you forget `await`?"
        assert answer["error"] == {"type": "TypeError", "message": why, "line": None}
    else:
        why = "files.read() was called without `await`, so nothing was done. Write `await` before it."
        assert answer["error"] == {"type": "RuntimeError", "message": why, "line": 1}


@pytest.mark.behaviour("code.left_out")
async def test_a_program_whose_result_is_a_call_fails_whatever_else_it_did(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(check=False)) as here:
        answer = await here.answers("await files.add(a=1, b=2)\nfiles.read(path='a')")
    assert (answer["result"], answer["error"]["type"]) == (None, "TypeError")


@pytest.mark.behaviour("code.left_out")
async def test_a_call_that_was_left_out_after_a_wait_is_told_as_well(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        again = "while len(ahead) < 2:\n    x = await ahead[0]\n    ahead.append(files.read(path='b'))\nx"
        ticket = ticket_of(await here.runs(f"ahead = [files.delete(path='a')]\n{again}"))
        await here.decides(ticket)
        answer = said(await here.waits(ticket))
    assert (answer["result"], answer["error"]) == ("a is gone", None)
    assert answer["note"] == f"line 4: files.read() was called and never awaited, so it was NOT done.\n{ALL_ELSE}"
