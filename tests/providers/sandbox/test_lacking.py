"""What the small Python does not have is told before a program has done anything, and only then."""

import pytest

from pegboard.ports.sandbox import Program, SandboxFunction
from pegboard.providers.sandbox.checks.unsupported_features import (
    MISSING_DATACLASS_OPTIONS,
    MISSING_DUMPS_OPTIONS,
    MISSING_METHODS,
    MISSING_NAMES,
    UNCALLED_SPECIAL_METHODS,
)

from .hosts import ended, opened, program

pytestmark = pytest.mark.anyio

ECHO = "await srv.echo(x=1)\n"
WORDS = {
    "import asyncio\nawait asyncio.gather(srv.echo(x=1), return_exceptions=True)": (
        "`asyncio.gather` takes no `return_exceptions` in this Python: write `async def tried(call):` with `try: "
        "return await call` and `except Exception as error: return error`, and `await asyncio.gather(*[tried(call) "
        "for call in calls])`."
    ),
    "import asyncio\nasyncio.create_task(srv.echo(x=1))": (
        "`asyncio.create_task` does not exist in this Python. Calls are made at the same time by `await "
        "asyncio.gather(*calls)`."
    ),
    "import asyncio\nfor x in asyncio.as_completed([srv.echo(x=1)]):\n    await x": (
        "`asyncio.as_completed` does not exist in this Python. Calls are made at the same time by `await "
        "asyncio.gather(*calls)`."
    ),
    "import asyncio\nawait asyncio.wait_for(srv.echo(x=1), 5)": (
        "`asyncio.wait_for` does not exist in this Python. Each call has a deadline of its own already: write `await` "
        "alone."
    ),
    "next((x for x in [1, 2] if x > 1), None)": (
        "`next` takes no generator expression in this Python: write a list, as in `next(iter([… for … in …]), None)`."
    ),
    "import re\nre.sub('a', lambda found: 'b', 'a')": (
        "`re.sub` takes no function in this Python: build the text in a loop over `re.finditer(…)`."
    ),
    "import re\nre.compile('a').sub(lambda found: 'b', 'a')": (
        "`sub` takes no function in this Python: build the text in a loop over `re.finditer(…)`."
    ),
    "import re\ndef b(found):\n    return 'b'\nre.sub('a', b, 'a')": (
        "`re.sub` takes no function in this Python: build the text in a loop over `re.finditer(…)`."
    ),
    "sorted(['b', 'A'], key=str.lower)": (
        "This Python has no `str.lower`, and no method as a value: call it on the value, as in `lambda x: x.lower(…)`."
    ),
    "raise ValueError('a', 1)": (
        "This Python does not support exceptions of anything but one text, or nothing: put all of it into one, as in "
        "`raise ValueError(f'{a}: {b}')`."
    ),
    "from datetime import timedelta\ntimedelta(days=1.5)": (
        "`timedelta` takes whole numbers in this Python: write smaller units, as in `minutes=90`."
    ),
    "try:\n    await srv.fail(type='OSError', message='away')\nexcept IOError:\n    pass": (
        "`IOError` is not in this Python: write `OSError`."
    ),
    "try:\n    await srv.fail(type='OSError', message='away')\nexcept ConnectionError:\n    pass": (
        "The name `ConnectionError` is not defined. This Python has fewer exceptions: write `OSError`."
    ),
}
SILENT = {
    "hasattr({}, 'get')": (
        "`hasattr` finds no methods in this Python, so `get` is never there: ask `isinstance(…, dict)`."
    ),
    "getattr('a', 'upper', None) is None": (
        "`getattr` finds no methods in this Python, so `upper` is never there: ask `isinstance(…, (str, bytes))`."
    ),
    "class A:\n    def __bool__(self):\n        return False\nbool(A())": (
        "This Python never calls `__bool__` of a class: give the method a name of its own, and call it."
    ),
}
"""Nothing fails there, and the answer is another than Python's."""
WORKS = """\
import asyncio, json, re
from datetime import datetime, timedelta

async def tried(call):
    try:
        return await call
    except Exception as error:
        return error

class Word:
    def __init__(self, text):
        self.text = text
    def get(self):
        return self.text
    def __eq__(self, other):
        return True

def translate(text):
    return text

calls = [srv.echo(x=1), srv.fail(type='OSError', message='away')]
both = await asyncio.gather(*[tried(call) for call in calls])
try:
    from typing import cast
except ImportError:
    cast = None
first = next(iter([x for x in [1, 2] if x > 1]), None)
found = [match.group() for match in re.finditer('a', 'aba')]
[both[0], str(both[1]), first, found, hasattr(Word('a'), 'get'), Word('a') == Word('b'),
 json.dumps({'a': 1}, indent=None), str(datetime(1970, 1, 1) + timedelta(seconds=5)),
 sorted(['b', 'A'], key=lambda x: x.lower()), dict.fromkeys(['a']),
 translate('a'), re.sub('a', 'b', 'a'), str(ValueError('a'))]"""


@pytest.mark.behaviour("code.told_before")
async def test_what_is_lacking_is_told_before_the_run_with_what_to_write_and_would_fail() -> None:
    async with opened() as sandbox:
        for code, words in WORDS.items():
            told = [(each.message, each.is_unsupported) for each in await sandbox.check(program(ECHO + code))]
            assert told == [(words, True)], code
            assert (await ended(sandbox, code)).error is not None, code


@pytest.mark.behaviour("code.told_before")
async def test_what_would_silently_be_another_answer_is_told_before_the_run() -> None:
    async with opened() as sandbox:
        for code, words in SILENT.items():
            told = [(each.message, each.is_unsupported) for each in await sandbox.check(program(ECHO + code))]
            assert told == [(words, True)], code
            assert (await ended(sandbox, code)).error is None, code


@pytest.mark.behaviour("code.told_before")
async def test_a_tool_may_have_the_name_of_a_method() -> None:
    named = Program(
        "hasattr(crm, 'get')\nawait getattr(crm, 'get')(x=1)", (SandboxFunction("crm", "get", parameters=("x",)),)
    )
    async with opened() as sandbox:
        assert await sandbox.check(named) == ()


@pytest.mark.behaviour("code.told_before")
async def test_all_that_is_said_to_be_lacking_is() -> None:
    dotted = (name.rpartition(".") for name in MISSING_NAMES)
    codes = [
        *(f"import {module.split('.')[0]}\n{module}.{name}" if module else name for module, _, name in dotted),
        *(f"json.dumps(1, {option}=None)" for option in MISSING_DUMPS_OPTIONS),
        *(f"@dataclass({option}={value})\nclass A:\n    x: int" for option, value in MISSING_DATACLASS_OPTIONS.items()),
        *(
            f"for x in ('a', 1, 1.5, {{1}}, [1], {{}}, b'a', datetime.datetime(2026, 1, 1)):\n"
            f"    try:\n        x.{name}()\n    except AttributeError:\n        missing.append(x)\n"
            "1 / (len(missing) - 8)"
            for name in MISSING_METHODS
        ),
    ]
    async with opened() as sandbox:
        for code in codes:
            whole = f"import json, datetime\nfrom dataclasses import dataclass\nmissing = []\n{code}"
            told = await sandbox.check(program(whole))
            assert any(each.is_unsupported for each in told), code
            assert (await ended(sandbox, whole)).error is not None, code
        for name in UNCALLED_SPECIAL_METHODS:
            told = await sandbox.check(program(f"class A:\n    def {name}(self, *given):\n        return 1"))
            assert [each.line for each in told] == [2], name


@pytest.mark.behaviour("code.told_before", "code.checked_working")
async def test_what_is_told_to_be_written_instead_works_and_is_not_complained_about() -> None:
    async with opened() as sandbox:
        assert await sandbox.check(program(WORKS)) == ()
        ran = await ended(sandbox, WORKS)
    assert ran.error is None
    date = "1970-01-01 00:00:05"
    assert ran.result == [
        *(1, "away", 2, ["a", "a"], True, True, '{"a": 1}', date, ["A", "b"], {"a": None}, "a", "b", "a"),
    ]


@pytest.mark.behaviour("code.told_before")
async def test_a_return_outside_of_a_function_is_told_with_what_the_result_is() -> None:
    async with opened() as sandbox:
        (told,) = await sandbox.check(program("x = 5\nreturn x"))
    assert (told.line, told.message) == (
        2,
        "`return` stands outside of a function: write the value alone as the last line.",
    )
