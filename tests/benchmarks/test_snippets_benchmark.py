"""`python -m benchmarks.snippets` runs any file of snippets in each sandbox."""

import json
from pathlib import Path

import pytest
from benchmarks.snippets.__main__ import main

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
    assert report["modes"] == {"monty": {"snippets": 4, "passed": 2, "lacking": 1, "checked": 1}}
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
