"""What the type check says before anything runs, in words that a model can act on."""

import pytest

from pegboard.ports.sandbox import Program, ProgramProblem, SandboxFunction

from .hosts import opened

pytestmark = pytest.mark.anyio

HEAD = "from typing import Any, Literal, NotRequired, TypedDict"
FUNCTIONS = (
    SandboxFunction(
        "gh",
        "create_issue",
        """\
class CreateIssueResult(TypedDict):
    id: int
    title: str
    body: NotRequired[str]

async def create_issue(*, title: str, labels: list[str] | None = None) -> CreateIssueResult:
    \"\"\"Opens an issue.\"\"\"
    ...""",
    ),
    SandboxFunction(
        "gh",
        "list_issues",
        """\
class ListIssuesItem(TypedDict):
    id: int
    title: str

async def list_issues(*, state: Literal["open", "closed"] = "open") -> list[ListIssuesItem]: ...""",
    ),
    SandboxFunction("gh", "anything"),
    SandboxFunction("", "alone", "async def alone(a: int) -> str: ...", ("a",)),
)
ASYNCHRONOUS = "`async for`, `async with` and asynchronous comprehensions"
MISSING = "`await` is missing: this is a call that was not awaited, not its answer (`{}`)."


async def checked(code: str) -> tuple[ProgramProblem, ...]:
    async with opened() as sandbox:
        return await sandbox.check(Program(code, FUNCTIONS, HEAD))


@pytest.mark.behaviour("code.checked")
@pytest.mark.parametrize(
    ("code", "complaints"),
    [
        (
            "x = gh.create_issue(title='a')\nprint(x['title'])",
            [ProgramProblem(2, MISSING.format("CreateIssueResult"))],
        ),
        ("for each in gh.list_issues():\n    print(each)", [ProgramProblem(1, MISSING.format("list[ListIssuesItem]"))]),
        ("\n\ngh.create_issue(title='a')\n1", [ProgramProblem(3, MISSING.format("CreateIssueResult"))]),
        ("len(gh.list_issues())", [ProgramProblem(1, MISSING.format("list[ListIssuesItem]"))]),
        (
            "x = gh.create_issue(title='a')\ny = [x]\nprint(x['title'])\nawait y[0]",
            [
                ProgramProblem(
                    3,
                    "`await` is missing: this is a call that was not awaited, not its answer (`CreateIssueResult`).",
                )
            ],
        ),
        (
            "async def f():\n    pass\nx = f()\ny = [x]\nx['a']\nawait y[0]",
            [ProgramProblem(5, "`await` is missing: this is a call that was not awaited, not its answer.")],
        ),
        (
            "await gh.create_issue(titel='a')",
            [
                ProgramProblem(1, "`create_issue` needs the argument `title`."),
                ProgramProblem(1, "`create_issue` has no argument `titel`. Did you mean `title`?"),
            ],
        ),
        (
            "await gh.create_issue(title='a', zzz=1)",
            [ProgramProblem(1, "`create_issue` has no argument `zzz`. It takes title, labels.")],
        ),
        (
            "await gh.create_issue('a')",
            [
                ProgramProblem(1, "`create_issue` needs the argument `title`."),
                ProgramProblem(1, "`create_issue` takes named arguments: write `create_issue(title=…)`."),
            ],
        ),
        (
            "await gh.create_issue(title=5)",
            [ProgramProblem(1, "`create_issue(title=5)`: expected `str`, found `Literal[5]`.")],
        ),
        (
            "await gh.list_issues(state='opn')",
            [
                ProgramProblem(
                    1, '`list_issues(state=\'opn\')`: expected `Literal["open", "closed"]`, found `Literal["opn"]`.'
                )
            ],
        ),
        (
            "import asyncio\nr = await asyncio.gather(gh.create_issue(title='a'), alone(1))\nr[0]['titel']",
            [ProgramProblem(3, 'There is no key "titel" in `CreateIssueResult`. Did you mean "title"?')],
        ),
        (
            "x = await gh.create_issue(title='a')\nx['mine'] == 1\nx['mine'] += 1",
            [
                ProgramProblem(2, 'There is no key "mine" in `CreateIssueResult`.'),
                ProgramProblem(3, 'There is no key "mine" in `CreateIssueResult`.'),
            ],
        ),
        (
            "r = await gh.create_issue(title='a')\nr.title",
            [ProgramProblem(2, "`CreateIssueResult` is a dictionary: write `r['title']`.")],
        ),
        (
            "for each in await gh.list_issues():\n    print(each.title)",
            [ProgramProblem(2, "`ListIssuesItem` is a dictionary: write `each['title']`.")],
        ),
        (
            "r = await alone(1)\nr['title']",
            [ProgramProblem(2, "This is a text, which has no keys. If it holds JSON, read it first: `json.loads(…)`.")],
        ),
        (
            "await gh.creat_issue(title='a')",
            [ProgramProblem(1, "`gh` has no function `creat_issue`. Did you mean `create_issue` or `list_issues`?")],
        ),
        ("await hg.create_issue(title='a')", [ProgramProblem(1, "The name `hg` is not defined.")]),
        ("print(alon)\nawait alone(1)", [ProgramProblem(1, "The name `alon` is not defined. Did you mean `alone`?")]),
        ("await alone('a')", [ProgramProblem(1, "`alone('a')`: expected `int`, found `Literal[\"a\"]`.")]),
        ("import numpy", [ProgramProblem(1, "There is no module `numpy` in this Python.")]),
        (
            "x = (1\ny = 2",
            [ProgramProblem(2, "Expected `)`, found name."), ProgramProblem(2, "unexpected EOF while parsing.")],
        ),
        (
            "async with gh as opened:\n    pass",
            [ProgramProblem(1, f"{ASYNCHRONOUS} are not in this Python. Write `await`.", is_unsupported=True)],
        ),
        (
            "async for each in gh:\n    pass",
            [ProgramProblem(1, f"{ASYNCHRONOUS} are not in this Python. Write `await`.", is_unsupported=True)],
        ),
        (
            "x = [each async for each in gh]",
            [ProgramProblem(1, f"{ASYNCHRONOUS} are not in this Python. Write `await`.", is_unsupported=True)],
        ),
        ("import heapq", [ProgramProblem(1, "There is no module `heapq` in this Python.", is_unsupported=True)]),
        (
            "import asyncio\nasyncio.create_task",
            [
                ProgramProblem(
                    2,
                    "`asyncio.create_task` does not exist in this Python. Calls are made at the same time by `await "
                    "asyncio.gather(*calls)`.",
                    is_unsupported=True,
                )
            ],
        ),
        (
            "class A:\n    pass\n\nclass B(A):\n    pass",
            [ProgramProblem(4, "This Python does not support class inheritance and metaclasses.", is_unsupported=True)],
        ),
    ],
)
async def test_a_mistake_is_told_with_its_line_before_anything_runs(
    code: str, complaints: list[ProgramProblem]
) -> None:
    assert [*await checked(code)] == complaints


@pytest.mark.behaviour("code.checked")
@pytest.mark.parametrize(
    "code",
    [
        "x = await gh.create_issue(title='a')\nx['title'].upper(), x.get('body')",
        """\
best = None
for each in await gh.list_issues():
    if best is None or each['id'] > best['id']:
        best = each
best['title']""",
        """\
def pick(items, n=None):
    for item in items:
        if item['id'] == n:
            return item
    return None
pick(await gh.list_issues(), 1)['id']""",
        """\
stats = {'open': 0, 'names': []}
for each in await gh.list_issues():
    stats['open'] += 1
    stats['names'].append(each['title'])
stats""",
        "answer = await gh.anything(whatever=1)\nanswer['x'].y",
        "def f(x: int) -> str:\n    return x\nf('a')",
        "r = await gh.create_issue(title='a')\nr.keys(), r.get('id')\n(await alone(1))[0]",
        "import json\njson.dumps(await gh.list_issues())",
        "import gh\nfrom gh import create_issue as make\nawait make(title='a')",
        "# type: ignore\nx: int = 'a'",
        "given = {'title': 'a'}\nawait gh.create_issue(**given)",
        "x = await gh.create_issue(title='a')\nx['mine'] = 1\nfor each in [x]:\n    each['é'] =  2\nx['mine'] + x['é']",
    ],
)
async def test_a_program_that_works_is_not_complained_about(code: str) -> None:
    assert await checked(code) == ()


@pytest.mark.behaviour("code.checked")
async def test_nothing_of_a_program_runs_while_it_is_checked() -> None:
    assert await checked("while True:\n    pass") == ()
    assert await checked("1 / 0") == ()


@pytest.mark.behaviour("code.checked")
async def test_there_are_no_more_complaints_than_a_model_can_use() -> None:
    complaints = await checked("\n".join(f"print(nobody_{count})" for count in range(50)))
    assert [each.line for each in complaints] == [*range(1, 11)]


@pytest.mark.behaviour("code.checked")
async def test_what_stubs_have_of_themselves_is_not_the_programs_fault() -> None:
    broken = SandboxFunction("gh", "odd", "async def odd(*, a: NoSuchType) -> AlsoNot: ...")
    async with opened() as sandbox:
        assert await sandbox.check(Program("await gh.odd(a=1)", (broken,), HEAD)) == ()
