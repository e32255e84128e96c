"""A program and its calls: each an ordinary call of the caller's own, seen, decided and recorded like any other."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.core.boards import NOW
from tests.gateway.programs.programs import ADD, FILES, READ, TOOLS, Place, ok, place, said, text, word
from tests.support.house import call_of

from pegboard.core.calls.call import AdmittedCall, BadArguments, Outcome, ToolCall, refusal_text
from pegboard.core.commands.commands import SetOverride, SetSwitch
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId, WireName
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.settings import PYTHON_ID, CodeLimits, CodeSettings
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.gateway.programs.answer import NOTHING_RAN
from pegboard.gateway.programs.calls import ProgramFunctions
from pegboard.ports.providers import Progress

pytestmark = pytest.mark.anyio

TWO = """
import asyncio
one, two = await asyncio.gather(files.add(a=1, b=2), files.add(a=3, b=4))
print("added", one["sum"])
one["sum"] + two["sum"]
"""


@pytest.mark.behaviour("builtins.python_execution_runs_code", "programs.answer")
async def test_a_program_calls_tools_and_answers_with_its_result(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert await here.answers(TWO) == ok(10, "add", "add", stdout="added 3\n")
        # A gather says its calls in order, and makes them at once: which one comes first is nobody's to say.
        assert sorted(here.called("add"), key=str) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


@pytest.mark.behaviour("code.answers")
async def test_a_tool_gives_what_its_schema_says_or_else_its_text(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        code = 'summed = await files.add(a=1, b=2)\nread = await files.read(path="a.txt")\n[summed, read]'
        assert await here.answers(code) == ok([{"sum": 3}, "what is in a.txt"], "add", "read")


@pytest.mark.behaviour("programs.errors_are_exceptions")
async def test_a_call_that_fails_raises_what_the_tool_says_and_the_program_may_go_on(tmp_path: Path) -> None:
    code = """
try:
    await files.fail()
except RuntimeError as error:
    told = str(error)
told
"""
    async with place(tmp_path) as here:
        answer = await here.answers(code)
        assert answer["result"] == "the disk is full"
        assert answer["tool_calls"] == [{"name": "files.fail", "ok": False, "error": "the disk is full"}]
        assert answer["error"] is None


@pytest.mark.behaviour("programs.errors_are_exceptions", "programs.answer")
async def test_an_exception_that_nobody_catches_is_an_error_with_its_line(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        answer = await here.answers('print("before")\nawait files.fail()\nprint("after")')
        assert answer["stdout"] == "before\n"
        assert answer["error"] == {"type": "RuntimeError", "message": "the disk is full", "line": 2}


@pytest.mark.behaviour("programs.checked_first")
async def test_a_name_that_is_nearly_right_is_told_with_what_was_meant_and_nothing_false(tmp_path: Path) -> None:
    end = "\nNothing of it has run. Correct it, and run it again."
    async with place(tmp_path) as here:
        for code, told in (
            ('await files.raed(path="a")', "line 1: files has no function 'raed'. Did you mean read?"),
            ('await filse.read(path="a")', "line 1: The name `filse` is not defined. Did you mean `files`?"),
            ("f = files.raed\nf", "line 1: `files` has no function `raed`."),
            ("nothing_like_it", "line 1: The name `nothing_like_it` is not defined."),
        ):
            error = (await here.answers(code))["error"]
            assert error == {"type": "TypeCheckError", "message": told + end, "line": 1}


@pytest.mark.behaviour("programs.checked_first")
async def test_a_wrong_argument_is_told_before_anything_runs(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        answer = await here.answers('await files.read(path="a")\nawait files.read(file="b")')
        assert answer["error"]["type"] == "TypeCheckError"
        assert answer["error"]["line"] == 2
        assert "file" in answer["error"]["message"]
        assert answer["error"]["message"].endswith(NOTHING_RAN)
        assert here.files.calls == []


async def refused_inside(here: Place, code: str) -> tuple[str, str]:
    """By which exception, in which words."""
    tried = "".join(f"    {line}\n" for line in code.splitlines())
    wrapped = f"try:\n{tried}except Exception as error:\n    told = [type(error).__name__, str(error)]\ntold"
    kind, message = (await here.answers(wrapped))["result"]
    return kind, message


async def refused_outside(here: Place, name: str, **arguments: str | int) -> str:
    ended = await here.house.gateway.caller.call(call_of(name, arguments, client="cli 1"), View())
    assert not isinstance(ended, Outcome)
    return refusal_text(ended)


@pytest.mark.behaviour("programs.same_refusals")
async def test_a_call_that_is_refused_raises_the_words_that_any_caller_gets(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(check=False)) as here:
        assert await refused_inside(here, "await files.read(path=7)") == (
            "ValueError",
            await refused_outside(here, "read", path=7),
        )

        async def locks(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
            await here.house.does(SetSwitch(READ, enabled=False))
            return text("read")

        here.files.answers["read"] = locks
        code = 'await files.read(path="a")\nawait files.read(path="b")'
        inside = await refused_inside(here, code)
        assert inside == ("PermissionError", await refused_outside(here, "read", path="b"))
        assert inside[1].startswith("disabled_by_user: ")
        assert [dict(each) for each in here.called("read")] == [{"path": 7}, {"path": "a"}][1:]


@pytest.mark.behaviour("programs.withheld", "law.withheld_in_search_and_code")
async def test_a_locked_tool_is_to_a_program_as_if_there_were_none(tmp_path: Path) -> None:
    """Byte for byte, whether a program names it, lists what there is or asks for its words."""
    programs = (
        'await files.read(path="a")',
        "from files import read\nread",
        "files.read.__doc__",
        "import files\nfiles.reed",
        'str(files) + " read"',
    )
    answers: list[list[object]] = []
    for number, tools in enumerate((TOOLS, tuple(tool for tool in TOOLS if tool.id != READ))):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with place(folder, tools=tools) as here:
            await here.house.does(SetSwitch(READ, enabled=False))
            answers.append([await here.answers(code) for code in programs])
    assert answers[0] == answers[1]
    assert "Reads a file." not in json.dumps(answers)


@pytest.mark.behaviour("programs.withheld")
async def test_a_tool_outside_of_the_view_has_no_function(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        narrow = View(narrowings=(Selection(TheseToolsets(())),))
        assert here.house.board.resolution(narrow).open_ids == ()
        answer = await here.answers('await files.read(path="a")', view=narrow)
        assert answer["error"] is not None
        assert answer["tool_calls"] == []
        assert here.files.calls == []


@pytest.mark.behaviour("programs.ordinary_calls")
async def test_a_call_of_a_program_comes_from_its_caller_by_its_caller_and_names_the_program(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        call = ToolCall(
            CallId("run-7"),
            WireName("python_execution"),
            {"code": "await files.add(a=1, b=2)"},
            LOCAL_PRINCIPAL,
            NOW,
            client="a client 3",
            headers={b"x-own": b"secret"},
            presentation="search",
        )
        assert said(await here.house.gateway.code_mode.run(call, View())) == ok({"sum": 3}, "add")
        (made,) = here.files.calls
        assert made.call.principal == LOCAL_PRINCIPAL
        assert (made.call.client, made.call.parent, made.call.presentation) == ("a client 3", "run-7", "search")
        assert made.call.headers == {b"x-own": b"secret"}
        assert made.call.id != call.id
        assert here.records() == [("add", "run-7", "ToolSuccess"), ("python_execution", None, "ToolSuccess")]
        assert [record.tool for record in here.house.audit.records] == [ADD, PYTHON_ID]


@pytest.mark.behaviour("programs.progress")
async def test_each_call_of_a_program_is_told_as_progress(tmp_path: Path) -> None:
    told: list[tuple[float, float | None, str | None]] = []
    code = 'await files.add(a=1, b=2)\ntry:\n    await files.fail()\nexcept RuntimeError:\n    pass\n"done"'
    async with place(tmp_path) as here:
        await here.answers(code, progress=lambda *each: told.append(each))
    assert told == [(1.0, None, "files.add: ok"), (2.0, None, "files.fail: failed")]


@pytest.mark.behaviour("programs.limits")
async def test_a_program_makes_no_more_calls_than_it_may(tmp_path: Path) -> None:
    code = """
made = 0
try:
    while True:
        await files.add(a=1, b=2)
        made += 1
except RuntimeError as error:
    told = str(error)
[made, told]
"""
    async with place(tmp_path, settings=CodeSettings(limits=CodeLimits(calls=3))) as here:
        made, told = (await here.answers(code))["result"]
        assert made == 3
        assert "3 calls" in told
        assert len(here.files.calls) == 3


@pytest.mark.behaviour("programs.limits")
async def test_calls_of_a_gather_run_at_once_and_no_more_of_them_than_may(tmp_path: Path) -> None:
    running, most = 0, 0
    full = anyio.Event()

    async def together(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            full.set()
        await full.wait()
        await anyio.lowlevel.checkpoint()
        running -= 1
        return text("read")

    code = 'import asyncio\nawait asyncio.gather(*[files.read(path=str(n)) for n in range(9)])\n"done"'
    async with place(tmp_path, settings=CodeSettings(limits=CodeLimits(concurrency=3))) as here:
        here.files.answers["read"] = together
        assert (await here.answers(code))["result"] == "done"
        assert (most, len(here.files.calls)) == (3, 9)


@pytest.mark.behaviour("programs.limits")
@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({"code": "é" * 40_000}, "code: is longer than 65536 bytes, which is the limit. Do it in several programs"),
        ({"code": 7}, "code: must be the text of a Python program"),
        ({"code": "1", "timeout_s": 0}, "timeout_s: must be a number of seconds up to 120"),
        ({"code": "1", "timeout_s": 121}, "timeout_s: must be a number of seconds up to 120"),
        ({"code": "1", "timeout_s": True}, "timeout_s: must be a number of seconds up to 120"),
    ],
)
async def test_what_cannot_be_run_is_told_as_bad_arguments(
    tmp_path: Path, arguments: dict[str, str | int], problems: str
) -> None:
    async with place(tmp_path) as here:
        call = call_of("python_execution", arguments)
        assert await here.house.gateway.code_mode.run(call, View()) == BadArguments(PYTHON_ID, (problems,))
        assert here.records() == [("python_execution", None, "BadArguments")]


@pytest.mark.behaviour("programs.runs_no_other", "code.not_itself")
async def test_a_program_cannot_run_another_by_any_road(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(is_listed=True)) as here:
        gateway = here.house.gateway
        assert "python_execution" in gateway.board.resolution(View()).names.values()
        roads = (
            'await builtin.python_execution(code="1")',
            'await builtin.pegboard_ticket(ticket="1")',
            "from builtin import python_execution\npython_execution",
        )
        for code in roads:
            answer = await here.answers(code)
            assert answer["error"] is not None
            assert answer["tool_calls"] == []

        async def inside(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
            """As if a tool had a way back into the gateway."""
            call = call_of("python_execution", {"code": "1"}, id="inner")
            ended = await gateway.caller.call(replace(call, parent=admitted.call.parent), View())
            return text(str(said(ended)["error"]["message"]))

        here.files.answers["read"] = inside
        assert (await here.answers('await files.read(path="a")'))["result"] == (
            "A program cannot run another one: write both as one program."
        )


@pytest.mark.behaviour("programs.on_the_board")
async def test_on_the_board_it_is_a_tool_like_any_other(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(is_listed=True)) as here:
        caller = here.house.gateway.caller
        call = call_of("python_execution", {"code": "await files.add(a=1, b=2)"}, id="run-1", client="cli 1")
        assert said(await caller.call(call, View())) == ok({"sum": 3}, "add")
        assert here.records() == [("add", "run-1", "ToolSuccess"), ("python_execution", None, "ToolSuccess")]
        odd = await caller.call(call_of("python_execution", {"program": "1"}), View())
        assert isinstance(odd, BadArguments)
        await here.house.does(SetSwitch(PYTHON_ID, enabled=False))
        assert word(await caller.call(call, View())) == "LockedToolRefusal"


@pytest.mark.behaviour("programs.on_the_board")
async def test_without_a_word_in_the_file_it_is_not_on_the_board(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert PYTHON_ID not in here.house.board.resolution(View()).verdicts
        board = here.house.board
        listed = replace(board.policy.declared, code=CodeSettings(is_listed=True))
        await here.house.gateway.operator.apply_settings(listed)
        await here.house.until(lambda: PYTHON_ID in board.resolution(View()).open_ids)
        await here.house.gateway.operator.apply_settings(replace(listed, code=CodeSettings()))
        await here.house.until(lambda: PYTHON_ID not in board.resolution(View()).verdicts)


@pytest.mark.behaviour("code.stubs_of_what_is_mentioned")
async def test_of_five_thousand_tools_only_those_that_a_program_mentions_are_written_down(tmp_path: Path) -> None:
    many = tuple(Tool(ToolId(FILES, f"tool_{n}"), ToolSpec(f"tool_{n}")) for n in range(5_000))
    async with place(tmp_path, tools=(*TOOLS, *many)) as here:
        board = here.house.board
        code = "# tool_7 of other is no function\nawait files.tool_42()"
        given = await ProgramFunctions().bind(code, board.resolution(View()), board.policy)
        assert given.tools == {"files.tool_42": ToolId(FILES, "tool_42"), "files.tool_7": ToolId(FILES, "tool_7")}
        assert [function.name for function in given.program.functions] == ["tool_7", "tool_42"]
        assert (await here.answers("await files.tool_42()"))["error"] is None


@pytest.mark.behaviour("programs.ordinary_calls")
async def test_an_override_of_arguments_holds_in_programs_too(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        pinned = {"path": ArgumentOverride(pin=freeze_json("pinned.txt"))}
        await here.house.does(SetOverride(Override(FILES.toolset, READ, arguments=pinned)))
        assert (await here.answers("await files.read()"))["result"] == "what is in ***"
        assert (await here.answers('await files.read(path="other")'))["error"] is not None
        assert here.called("read") == [{"path": "pinned.txt"}]


@pytest.mark.behaviour("programs.ordinary_calls")
async def test_arguments_that_python_has_no_name_for_reach_the_tool_by_their_own(tmp_path: Path) -> None:
    odd = ToolSpec("odd", input_schema={"type": "object", "properties": {"from": {"type": "string"}, "x-y": {}}})
    async with place(tmp_path, tools=(Tool(ToolId(FILES, "odd"), odd),)) as here:
        assert (await here.answers('await files.odd(from_="a", x_y=2)'))["error"] is None
        assert here.called("odd") == [{"from": "a", "x-y": 2}]
