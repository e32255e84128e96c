"""Programs that work: the check refuses none of them, however they get at keys, names and calls."""

from pathlib import Path

import anyio
import msgspec
import pytest

from pegboard.ports.sandbox import RunResult

from .hosts import opened
from .library import Library, program

pytestmark = pytest.mark.anyio


class Working(msgspec.Struct):
    name: str
    code: str
    result: object


WORKING = msgspec.yaml.decode((Path(__file__).parent / "working.yaml").read_bytes(), type=list[Working])
READS = "b = await library.get_book(id=1)\n"
NO_KEY = 'There is no key "{}" in `SearchBooksResultBooksItem`.'


@pytest.mark.behaviour("code.checked_working")
async def test_a_program_that_works_passes_the_check_and_runs() -> None:
    found: dict[str, object] = {}
    async with opened() as sandbox:
        for each in WORKING:
            with anyio.fail_after(60):
                complaints = await sandbox.check(program(each.code))
                ran = await sandbox.run(program(each.code), Library())
            assert isinstance(ran, RunResult)
            found[each.name] = [each.message for each in complaints], ran.error, ran.result
    assert found == {each.name: ([], None, each.result) for each in WORKING}


@pytest.mark.behaviour("code.checked_working")
@pytest.mark.parametrize(
    ("code", "messages"),
    [
        (READS + "b['titel']", [f'{NO_KEY.format("titel")} Did you mean "title"?']),
        (READS + "{'isbn': b['isbn']}", [NO_KEY.format("isbn")]),
        (READS + "print('isbn', b['isbn'])", [NO_KEY.format("isbn")]),
        (READS + "seen = {}\nfor k in b:\n    seen[k] = 1\nseen.update(b)\nb['isbn']", [NO_KEY.format("isbn")]),
        (READS + "try:\n    b['isbn']\nexcept ValueError:\n    pass", [NO_KEY.format("isbn")]),
        (READS + "try:\n    b['title']\nexcept KeyError:\n    b['isbn']", [NO_KEY.format("isbn")]),
        (READS + "def f():\n    return b['isbn']\nf()", [NO_KEY.format("isbn")]),
        (
            "def status(id: str):\n    return id\nstatus(5)\nawait library.get_book(id='a')",
            ["`get_book(id='a')`: expected `int`, found `Literal[\"a\"]`."],
        ),
        (
            "from library import get_book\nget = get_book\nawait get(id='a')",
            ["`get_book(id='a')`: expected `int`, found `Literal[\"a\"]`."],
        ),
        ("def status():\n    return 1\nstatus(5)", ["`status` takes named arguments: write `status(name=…)`."]),
        (
            "try:\n    await library.rows()\nexcept (ConnectionError, TimeoutError):\n    pass",
            ["The name `ConnectionError` is not defined. This Python has fewer exceptions: write `OSError`."],
        ),
        (
            "try:\n    pass\nexcept UnicodeError:\n    pass",
            ["The name `UnicodeError` is not defined. This Python has fewer exceptions: write `ValueError`."],
        ),
    ],
)
async def test_what_is_surely_wrong_is_told_all_the_same(code: str, messages: list[str]) -> None:
    async with opened() as sandbox:
        assert [each.message for each in await sandbox.check(program(code))] == messages
