"""`python -m benchmarks.snippets` runs any file of snippets in each sandbox."""

import ast
import json
from pathlib import Path

import pytest
from benchmarks.snippets.__main__ import main
from benchmarks.snippets.mistakes import judge, mistakes, rows

SNIPPETS = [
    {
        "id": "orders",
        "features": "calls",
        "code": "for o in await list_orders((await list_users())[1]['id']):\n    print(o['order_id'], o['total'])",
        "expected_stdout": "201 12.5\n202 23.0\n203 33.5\n204 44.0\n",
    },
    {
        "id": "unknown user",
        "code": "try:\n    await get_user(user_id=9)\nexcept Exception as e:\n    print(e)\nprint(await get_user(1))",
        "expected_stdout": "user 9 not found\n{'id': 1, 'name': 'Ada', 'age': 36, 'dept': 'R&D'}\n",
    },
    {"id": "lacking", "code": "import heapq", "expected_stdout": ""},
    {"id": "wrong", "code": "print(await echo(1))", "expected_stdout": "2\n"},
]


@pytest.mark.behaviour("benchmarks.snippets")
def test_each_snippet_is_judged_by_what_cpython_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "snippets.json"
    file.write_text(json.dumps(SNIPPETS))
    assert main([str(file), "--json", "--mode", "monty"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["benchmark"] == "snippets"
    assert report["modes"] == {"monty": {"snippets": 4, "passed": 2, "lacking": 1, "checked": 1, "without_tools": 0}}
    assert [(case["id"], case["passed"], case["stage"], case["why"]) for case in report["cases"]] == [
        ("orders", True, "run", ""),
        ("unknown user", True, "run", ""),
        ("lacking", False, "check", "TypeCheckError: There is no module `heapq` in this Python. (line 1)"),
        ("wrong", False, "run", "prints something else"),
    ]
    assert main([str(file), "--mode", "monty"]) == 0
    assert "monty wrong, run: prints something else" in capsys.readouterr().out


@pytest.mark.behaviour("benchmarks.snippets")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "not a JSON array of snippets"),
        ("[3]", "record 0 is not an object"),
        ('[{"id": "a", "code": "1"}]', "record 0 has no text under 'expected_stdout'"),
        ("[", "Expecting value"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_its_place(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "snippets.json"
    file.write_text(text)
    assert main([str(file)]) == 2
    assert why in capsys.readouterr().err


TOOLS = {
    "search_docs": {
        "parameters": ["query"],
        "answers": [
            {"arguments": {"query": "refunds"}, "returns": [{"title": "Refunds", "date": "2026-01-02"}]},
            {"arguments": {"query": ""}, "raises": {"type": "ValueError", "message": "say what to look for"}},
        ],
    }
}
WITH_TOOLS = [
    {
        "id": "of the file",
        "code": "for d in await search_docs('refunds'):\n    print(d['title'], d['date'])\n"
        "try:\n    await search_docs(query='')\nexcept ValueError as e:\n    print(e)",
        "expected_stdout": "Refunds 2026-01-02\nsay what to look for\n",
    },
    {
        "id": "of its own",
        "code": "print(await today(), len(await list_users()))",
        "expected_stdout": "2026-01-03 3\n",
        "tools": {"today": {"returns": "2026-01-03"}},
    },
    {"id": "of nobody", "code": "print(await weather('Oslo'))", "expected_stdout": "cold\n"},
]


@pytest.mark.behaviour("benchmarks.snippets")
def test_a_file_brings_tools_of_its_own_and_one_that_is_missing_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "snippets.json"
    file.write_text(json.dumps({"tools": TOOLS, "snippets": WITH_TOOLS}))
    assert main([str(file), "--json", "--mode", "monty"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["modes"]["monty"] == {"snippets": 3, "passed": 2, "lacking": 0, "checked": 0, "without_tools": 1}
    assert [(case["id"], case["stage"], case["why"]) for case in report["cases"] if not case["passed"]] == [
        ("of nobody", "file", "the file brings no tool 'weather'")
    ]


@pytest.mark.behaviour("benchmarks.snippets")
def test_a_tool_without_an_answer_is_refused_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "snippets.json"
    file.write_text(json.dumps({"tools": {"date": {"parameters": []}}, "snippets": []}))
    assert main([str(file)]) == 2
    assert "tools.date has neither 'returns' nor 'raises' nor 'answers'" in capsys.readouterr().err


def test_each_mistake_is_made_alone_and_leaves_the_program_as_it_was() -> None:
    tree = ast.parse("b = await library.get_book(id=1)\nb['title']")
    made = sorted(mistakes(tree))
    assert made == [
        ("argument left out", "b = await library.get_book()\nb['title']"),
        ("argument misspelled", "b = await library.get_book(ids=1)\nb['title']"),
        ("argument of another kind", "b = await library.get_book(id='many')\nb['title']"),
        ("attribute for a key", "b = await library.get_book(id=1)\nb.title"),
        ("await left out", "b = library.get_book(id=1)\nb['title']"),
        ("function misspelled", "b = await library.get_books(id=1)\nb['title']"),
        ("key misspelled", "b = await library.get_book(id=1)\nb['titel']"),
    ]
    assert ast.unparse(tree) == "b = await library.get_book(id=1)\nb['title']"


@pytest.mark.anyio
async def test_a_mistake_that_one_check_alone_stops_is_counted_for_it() -> None:
    [key, right] = await judge(
        [
            ("key misspelled", "a", "b = await library.get_book(id=1)\nb['titel']", "T1"),
            ("attribute for a key", "b", "b = await library.get_book(id=1)\nb['title']", "T1"),
        ]
    )
    assert (key.stopped, key.only_by) == (True, ("type checker's findings", "missing keys"))
    assert (key.calls, key.error, key.same) == (1, "titel", False)
    assert (right.stopped, right.only_by, right.same) == (False, (), True)
    assert [row for row in rows([key, right]) if row[1] != "0"] == [
        ["type checker's findings", "1", "1", "0", "0"],
        ["missing keys", "1", "1", "0", "0"],
    ]
