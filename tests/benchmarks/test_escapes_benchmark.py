"""`python -m benchmarks.escapes` and `python -m benchmarks.hostile` run any file of attacks."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from benchmarks.escapes.__main__ import judged, main, told
from benchmarks.escapes.cases import read
from benchmarks.escapes.world import world

ROOT = Path(__file__).parents[2]
ATTACKS = [
    {
        "id": "A1",
        "category": "fs",
        "must_not": ["leak_host_file"],
        "code": "print(open('/tmp/codemode/canary/secret.txt').read())",
        "note": "",
    },
    {"id": "A2", "must_not": ["net"], "code": "import socket\nsocket.create_connection(('127.0.0.1', 47111), 2)"},
    {"id": "A3", "must_not": ["something of tomorrow"], "code": "print('harmless')"},
]


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.escapes")
def test_each_attack_is_told_with_what_happened_and_whether_it_works_without_a_sandbox(tmp_path: Path) -> None:
    file = tmp_path / "attacks.json"
    file.write_text(json.dumps(ATTACKS))
    with world(tmp_path / "canary", 0) as made:
        report = anyio.run(judged, made, read(file), ["monty", "full"], True)
    cases = report["cases"]
    assert isinstance(cases, list)
    assert [(case["mode"], case["id"], case["held"], case["works_without"]) for case in cases] == [
        *(("monty", "A1", True, True), ("monty", "A2", True, True), ("monty", "A3", True, False)),
        *(("full", "A1", True, True), ("full", "A2", True, True), ("full", "A3", True, False)),
    ]
    assert cases[3]["what_happened"].startswith("PermissionError: [Errno 1] Operation not permitted")
    assert cases[0]["without"]["effects"] == ["leak_host_file"]
    assert cases[2]["unknown"] == ["something of tomorrow"]
    assert report["modes"] == {
        mode: {"cases": 3, "held": 3, "attack_step_ran": ran, "held_and_works_without": 2}
        for mode, ran in (("monty", 2), ("full", 3))
    }
    assert (report["away"], report["orphans"]) == ({}, {"monty": 0, "full": 0})
    assert "full A1: held" in told(report)


@pytest.mark.behaviour("benchmarks.escapes")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}", "not an array of attacks"),
        ("[1]", "record 0 is not an object"),
        ('[{"id": "a"}]', "record 0 has no text under 'id' or 'code'"),
        ('[{"id": "a", "code": "1", "must_not": "net"}]', "record 0 has no list of texts under 'must_not'"),
        ("[", "Expecting value"),
    ],
)
def test_a_file_that_is_none_of_attacks_is_told_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    file = tmp_path / "attacks.json"
    file.write_text(text)
    assert main([str(file)]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.behaviour("code.hostile_hour")
def test_hostile_programs_in_a_row_leave_nothing_behind() -> None:
    attacks = ROOT / "tests" / "sandbox" / "attacks"
    command = [sys.executable, "-m", "benchmarks.hostile", "--json", "--seconds", "0", "--rounds", "2"]
    command += [str(attacks / name) for name in ("inner.yaml", "kernel.yaml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    for report in json.loads(done.stdout)["modes"]:
        assert report["answered"] == report["programs"]
        assert report["processes_left"] == 0
        assert report["memory_mb"]["last"] <= report["memory_mb"]["after_the_first_round"] + 16
        assert not [end for end in report["ends"] if end.startswith("SandboxAway")]
