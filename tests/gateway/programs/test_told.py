"""What a model is told of names that are not there: by line, with what is, and never of what is locked."""

from pathlib import Path

import pytest
from tests.gateway.programs.programs import DELETE, FILES, TOOLS, place
from tests.support.house import PATIENCE

from pegboard.core.commands.commands import SetOverride
from pegboard.core.model.settings import CodeSettings
from pegboard.core.overrides.model import Override
from pegboard.gateway.programs.answer import NOTHING_RAN

pytestmark = pytest.mark.anyio

LOCKED = SetOverride(Override(FILES.toolset, DELETE, enabled=False))


@pytest.mark.behaviour("code.told_names")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("from files import raed", "line 1: files has no function 'raed'. Did you mean read?"),
        (
            "1\nfrom files import (\n    read,\n    ad as plus,\n)",
            "line 4: files has no function 'ad'. Did you mean add or read?",
        ),
        ("1\nawait files.raed(path='a')", "line 2: files has no function 'raed'. Did you mean read?"),
        ("await files.raed(path='a')\nfiles.read", "line 1: files has no function 'raed'. Did you mean read?"),
        (
            "await builtin.python_execution(code='1')",
            "line 1: builtin has no function 'python_execution'. A program cannot run another one: write both as one "
            "program.",
        ),
    ],
)
async def test_a_function_that_is_not_there_is_told_and_its_module_is_not_denied(
    tmp_path: Path, code: str, words: str
) -> None:
    async with place(tmp_path) as here:
        answer = await here.answers(code)
    assert answer["error"]["message"] == f"{words}\n{NOTHING_RAN}"


@pytest.mark.behaviour("code.told_names")
@pytest.mark.parametrize("code", ["from files import delete", "await files.delete(path='a')", "x = files.delete"])
async def test_a_locked_function_is_told_as_one_that_was_never_there(tmp_path: Path, code: str) -> None:
    async with place(tmp_path) as here:
        await here.house.does(LOCKED)
        locked = (await here.answers(code))["error"]["message"]
    unknown = tuple(tool for tool in TOOLS if tool.id != DELETE)
    async with place(tmp_path / "other", tools=unknown, patience=PATIENCE) as there:
        assert locked == (await there.answers(code))["error"]["message"]
    assert "files` has no function `delete" in locked or "files has no function 'delete'" in locked


@pytest.mark.behaviour("code.told_names")
async def test_a_module_may_be_imported_of_which_nothing_is_called(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert (await here.answers("import files\n1 + 1"))["result"] == 2


@pytest.mark.behaviour("code.told_names")
@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("filse.read", "\nDid you mean files?"),
        ("await files.raed(path='a')", "\nfiles has no function 'raed'. Did you mean read?"),
    ],
)
async def test_without_a_check_it_is_told_when_it_happens(tmp_path: Path, code: str, end: str) -> None:
    async with place(tmp_path, settings=CodeSettings(check=False)) as here:
        message = (await here.answers(code))["error"]["message"]
    assert message.endswith(end)
    assert "'files' is not defined" not in message
