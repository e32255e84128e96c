"""What a toolset's functions are is found out in a process of their own, and what is wrong has its place."""

from pathlib import Path

import pytest
from tests.providers.mcp.running import nothing_left
from tests.providers.python.toolsets import entries, workers, written

from pegboard.core.json.values import JsonObject
from pegboard.core.model.tool import ToolsetLimits, ToolSpec
from pegboard.ports.providers import DescribedTool, FunctionEntry, ToolDescriber, ToolDescriptionError
from pegboard.providers.python.describe import Describer
from pegboard.providers.python.environments import Environments

pytestmark = pytest.mark.anyio

WEATHER = {
    "weather/__init__.py": "",
    "weather/now.py": '''
    from pegboard.tools import tool
    from .units import Unit

    @tool(title="Now", read_only=True, requires_confirmation=True)
    def temperature(city: str, unit: Unit = Unit.CELSIUS) -> float:
        """How warm it is.

        Args:
            city: Where.
        """
        return 21.5
    ''',
    "weather/units.py": """
    from enum import Enum

    class Unit(Enum):
        CELSIUS = "celsius"
        FAHRENHEIT = "fahrenheit"
    """,
}


SMALL = ToolsetLimits(memory=256 * 1024 * 1024)


def describer(root: Path, **said: float) -> ToolDescriber:
    return Describer(Environments(root), **said)


async def problems(folder: Path, *wanted: FunctionEntry, **said: float) -> tuple[str, ...]:
    async with nothing_left():
        with pytest.raises(ToolDescriptionError) as raised:
            await describer(folder.parent / "environments", **said)(folder, wanted, (), print, SMALL)
    return raised.value.problems


@pytest.mark.behaviour("providers.python_described")
async def test_functions_are_described_with_the_words_of_the_manifest_before_their_own(tmp_path: Path) -> None:
    folder = written(tmp_path / "toolset", WEATHER)
    wanted = [
        FunctionEntry("temperature", "weather.now:temperature"),
        FunctionEntry("warmth", "weather.now:temperature", "Warmth", "How warm it feels."),
    ]
    async with nothing_left():
        first, second = await describer(tmp_path)(folder, wanted, (), print)
    unit: JsonObject = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    spec = ToolSpec(
        "temperature",
        "Now",
        "How warm it is.",
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "city": {"type": "string", "description": "Where."},
                "unit": {"$ref": "#/$defs/Unit", "default": "celsius"},
            },
            "required": ["city"],
            "$defs": {"Unit": unit},
        },
        {"type": "object", "properties": {"result": {"type": "number"}}, "required": ["result"]},
        {"readOnlyHint": True},
    )
    assert first == DescribedTool(spec, True)
    assert (second.spec.name, second.spec.title, second.spec.description) == ("warmth", "Warmth", "How warm it feels.")
    assert second.spec.input_schema == spec.input_schema
    assert workers() == []
    # Nothing was written beside what its author put there.
    assert not [*folder.rglob("__pycache__")]


async def test_nothing_wanted_starts_nothing(tmp_path: Path) -> None:
    assert await describer(tmp_path)(tmp_path / "nowhere", (), ("not installed",), print) == ()


@pytest.mark.behaviour("providers.python_problems_told")
@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def one() -> int:\n    return 1 +\n", "one.py:2: invalid syntax. Python cannot read this file."),
        (
            "import not_installed_anywhere\n",
            "one.py:1: there is no module 'not_installed_anywhere'. If it is of a package, name that package under "
            "requirements in toolset.yaml; if it is a file of the toolset, check that 'not_installed_anywhere' is "
            "among its files.",
        ),
        ("\nLIMIT = 1 / 0\n", "one.py:2: importing it raised ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(1)\n", "one.py:2: the file ends the program when it is imported (sys.exit)."),
        (
            "def ones() -> int:\n    return 1\n",
            "one.py:1: there is no function 'one', which tool 'one' is. Did you mean 'ones'?",
        ),
        ("one = 7\n", "one.py:1: one: it is of type int, and no function."),
        ("\nclass one: ...\n", "one.py:2: one: it is a class. Name a function, or an instance that can be called."),
        (
            "\n\ndef one(*many: int) -> int:\n    return 1\n",
            "one.py:3: one: *many cannot be described to a model. Write a parameter of its own, such as a list or a "
            "dict.",
        ),
        ("import os\nos._exit(4)\n", "the worker exited with code 4 while it loaded the toolset's modules"),
        (
            "import os\nprint('no licence', flush=True)\nos._exit(4)\n",
            "the worker exited with code 4 while it loaded the toolset's modules. It last wrote: no licence",
        ),
        (
            "class Odd:\n    def __get_pydantic_core_schema__(self, *_):\n        raise RuntimeError('odd')\n\n"
            "def one(what: Odd) -> int:\n    return 1\n",
            "one.py:5: one: it cannot be described: RuntimeError: odd",
        ),
        (
            "kept = bytearray(400 * 1024 * 1024)\n",
            "one.py:1: importing it takes more memory than the toolset may use. Raise limits.memory.",
        ),
    ],
)
async def test_what_is_wrong_with_a_file_is_told_with_its_line(code: str, problem: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "toolset", {"one.py": code})
    assert await problems(folder, *entries("one:one")) == (problem,)


@pytest.mark.behaviour("providers.python_problems_told")
async def test_every_problem_is_told_and_a_broken_module_once(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "toolset", {"good.py": "def good() -> int:\n    return 1\n", "inner/bad.py": "1 +\n", "json.py": ""}
    )
    found = await problems(
        folder, *entries("inner.bad:one", "inner.bad:two", "goood:good", "good:good", "json:loads", "good:god")
    )
    assert found == (
        "inner/bad.py:1: invalid syntax. Python cannot read this file.",
        "toolset.yaml: tool 'good': there is no module 'goood' among the toolset's files. Did you mean 'good'?",
        "json.py:1: another module is called 'json' as well, and that one is loaded already. Rename the file.",
        "good.py:1: there is no function 'god', which tool 'god' is. Did you mean 'good'?",
    )


@pytest.mark.behaviour("providers.python_problems_told")
async def test_a_module_that_never_ends_to_load_is_given_up(tmp_path: Path) -> None:
    folder = written(tmp_path / "toolset", {"one.py": "while True: pass\n"})
    assert await problems(folder, *entries("one:one"), start_timeout=3.0) == (
        "the worker did not start within 3 s: importing its modules takes longer",
    )
