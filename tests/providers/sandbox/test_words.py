"""A text is a text, though it looks like what a worker writes in the place of something that is none."""

from threading import Thread

import pytest

from pegboard.ports.sandbox import RunResult, RunSuspension
from pegboard.providers.sandbox.prelude import WorkerProgram, name_last_line
from pegboard.providers.sandbox.values import StandIns, stand_in_texts

from .hosts import Answers, ended, opened, program

pytestmark = pytest.mark.anyio

TEXTS = (
    "range(0, 3)",
    "<app.Session object at 0x7f3a1b2c>",
    "dict_keys(['a'])",
    "<coroutine object f>",
    "<coroutine external_future(1)>",
    "<function f at 0x7f3a>",
    "re.compile('a')",
)
"""As tools give them and programs write them."""


@pytest.mark.behaviour("code.words_are_words")
@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_that_a_tool_gave_is_one_on_its_way_to_another_and_to_the_caller(text: str) -> None:
    host = Answers()
    code = f"""\
import json
found = await srv.echo(x={{'cells': [{text!r}, 'plain']}})
again = await srv.echo(x=found['cells'][0], y={{found['cells'][0]: 1}})
[found, again, json.loads(json.dumps(found))['cells'][0][:9] + found['cells'][0][9:], {text!r}]"""
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host)
    assert ran == RunResult([{"cells": [text, "plain"]}, text, text, text])
    assert host.calls[1] == (2, "echo", {"x": text, "y": {text: 1}})


@pytest.mark.behaviour("code.words_are_words", "code.plain_json")
async def test_beside_such_a_text_what_only_the_program_has_is_refused_all_the_same() -> None:
    host = Answers()
    async with opened() as sandbox:
        sent = await ended(sandbox, "await srv.echo(x=['range(0, 4)', range(3)])", host)
        assert sent.error is not None
        assert sent.error.message.startswith("echo(): the argument x[1] is of type range, which is not JSON")
        assert host.calls == []
        given = await ended(sandbox, "['plain', 'range(0, 4)', range(3)]")
        assert given.error is not None
        assert given.error.message == (
            "The result cannot be given back: result[2] is of type range, which is not JSON; use list()."
        )
        deep = await ended(sandbox, "{'a': ['range(0, 4)', '<bound method>'], 'b': {'c': ('range(0, 4)', range(4))}}")
        assert deep.error is not None
        assert "result['b']['c'][1] is of type range" in deep.error.message
        many = await ended(sandbox, "['range(0, 4)'] * 30 + [range(3)]")
        assert many.error is not None
        assert "is of type range, which is not JSON" in many.error.message


@pytest.mark.behaviour("code.words_are_words")
async def test_a_text_stays_one_after_a_person_was_asked() -> None:
    code = "x = await srv.ask(x=1)\nawait srv.echo(x=x)\n[x, await srv.ask(x=2)]"
    async with opened() as sandbox:
        first = await sandbox.run(program(code), Answers())
        assert isinstance(first, RunSuspension)
        second = await sandbox.resume(first.state, {1: TEXTS[0]}, Answers())
        assert isinstance(second, RunSuspension)
        assert await sandbox.resume(second.state, {3: TEXTS[1]}, Answers()) == RunResult([TEXTS[0], TEXTS[1]])


RESULTS = (
    "('range(0, 3)',\n 1)",
    "x = 'range(0, 3)'; (\n    x, 1\n)  # the end",
    "x = 'range(0, 3)'\r\n[x, 1]\r\n",
    "'''ä\n'''; ['range(0, 3)', 1]",
    "x = 'range(0, 3)'\n" + "y = 1\n" * 2_000 + "[x, 1]",
    "x = {'a': 'range(0, 3)'}\n[f\"{x[\"a\"]}\", 1]",
    "pegboard_last = range(3)\n['range(0, 3)', 1]",
)


@pytest.mark.behaviour("code.words_are_words")
@pytest.mark.parametrize("code", RESULTS)
async def test_a_text_is_one_in_a_result_that_is_written_in_any_way(code: str) -> None:
    async with opened() as sandbox:
        assert await ended(sandbox, code) == RunResult(["range(0, 3)", 1])
        broken = await ended(sandbox, f"{code}\n[\n 1 / 0]")
        assert broken.error is not None
        assert (broken.error.type, broken.error.line) == ("ZeroDivisionError", code.count("\n") + 3)


@pytest.mark.behaviour("code.words_are_words")
async def test_a_worker_that_was_asked_about_a_result_runs_the_next_program() -> None:
    async with opened() as sandbox:
        for code, result in (("['range(0, 3)']", ["range(0, 3)"]), ("1 + 1", 2), ("range(3)", None), ("2 + 2", 4)):
            assert (await ended(sandbox, code)).result == result


BREAKERS = (
    *("-" * 7_000 + "1", "~" * 7_000 + "1", "not " * 1_900 + "1", "await " * 1_300 + "x", "lambda:" * 1_100 + "1"),
    *("(" * 7_000, "(" * 190 + ")" * 190, "[" * 3_900 + "]" * 3_900, "{1:" * 190 + "1" + "}" * 190, "f(" * 3_000),
    *("1" + "+1" * 3_900, "2" + "**2" * 2_600, "a" + ".b" * 3_900, "a" + "[0]" * 2_600, "a" + "()" * 3_900),
    *("1 if x else " * 660 + "1", "a" + "<b" * 3_900, "if a: 1\n" + "elif a: 1\n" * 790, "x = " * 1_990 + "1"),
    "".join(f"{' ' * depth}if a:\n" for depth in range(99)) + " " * 99 + "1",
)


@pytest.mark.parametrize("code", BREAKERS)
def test_what_is_written_to_break_a_parser_breaks_nothing(code: str) -> None:
    found = name_last_line(WorkerProgram(f"import pegboard_start\n{code}", ()))
    assert found is None or found.text.endswith("\npegboard_last")


def test_nothing_is_parsed_where_the_stack_may_be_small() -> None:
    found: list[WorkerProgram | None] = []
    frame = WorkerProgram("import pegboard_start\n1", ())
    thread = Thread(target=lambda: found.append(name_last_line(frame)))
    thread.start()
    thread.join()
    assert found == [None]
    assert name_last_line(frame) is not None


START = b"MONTY\0\x0e\0"


@pytest.mark.parametrize(
    "dump", [b"", START, START + b"\xa1estate\xf6", START + b"\xa1", START + b"\xa1ax\xff", b"x" * 99]
)
def test_what_is_no_dump_of_a_call_is_told_from_one(dump: bytes) -> None:
    with pytest.raises(ValueError, match="not what a worker says of a call"):
        stand_in_texts(dump)


def test_a_program_that_holds_much_is_looked_into_only_so_often() -> None:
    asked: list[None] = []

    def dump() -> bytes:
        asked.append(None)
        nodes = b"\xa1enodes\x81\xa1dReprkrange(0, 3)"
        path = b"\xa1estate\xa1iSuspended\xa1lFunctionCall\xa1dargs\xa1egraph"
        return START + path + nodes + bytes(40 << 20)

    standins = StandIns()
    told = [standins.stand_ins_at(dump)("range(0, 3)") for _ in range(4)]
    assert (told, len(asked)) == (["range", "range", None, None], 2)
    assert standins.stand_ins_at(dump)("no such form") is None


def test_where_a_worker_says_something_else_the_form_decides(caplog: pytest.LogCaptureFixture) -> None:
    stands_for = StandIns().stand_ins_at(lambda: b"another version")
    assert [stands_for("range(0, 3)"), stands_for("a text")] == ["range", None]
    assert "judged by their form alone" in caplog.text
