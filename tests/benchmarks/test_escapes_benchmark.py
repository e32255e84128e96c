"""`python -m benchmarks.escapes` and `python -m benchmarks.hostile` run any file of attacks."""

import json
import os
import subprocess
from pathlib import Path

import anyio
import pytest
from benchmarks.escapes import effects, watching
from benchmarks.escapes.__main__ import as_text, judged, main, told
from benchmarks.escapes.attacking import without
from benchmarks.escapes.cases import Case, read
from benchmarks.escapes.world import world
from benchmarks.hostile import growth, problems
from tests.support.fork_server import python

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


HARM_TO_THE_WORLD = {
    "a folder": "import os\nos.makedirs(W + '/d/e')\nos.close(os.open(W + '/d/e/f', os.O_CREAT))",
    "a folder nobody may enter": "import os\nos.mkdir(W + '/d')\nos.mkdir(W + '/d/e')\nos.chmod(W + '/d', 0)",
    "folders without end": "import os\nos.chdir(W)\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')",
    "a pipe": "import os\nos.mkfifo(W + '/p')",
    "a link to what never ends": "import os\nos.symlink('/dev/zero', W + '/z')",
    "a file of a terabyte": "import os\nos.close(os.open(W + '/t', os.O_CREAT))\nos.truncate(W + '/t', 1 << 40)",
    "no folder": "import os\nos.rmdir(W)",
    "a link to another folder": "import os\nos.rmdir(W)\nos.symlink(KEPT, W)",
    "a link for the secret": "import os\nos.remove(SECRET)\nos.symlink(KEPT + '/kept.txt', SECRET)",
    "no secret": "import os\nos.remove(SECRET)",
    "nothing at all": "import shutil\nshutil.rmtree(FOLDER)",
    "a link for everything": "import os, shutil\nshutil.rmtree(FOLDER)\nos.symlink(KEPT, FOLDER)",
}


@pytest.mark.behaviour("benchmarks.escapes")
@pytest.mark.parametrize("harm", HARM_TO_THE_WORLD)
def test_whatever_an_attack_makes_of_its_world_is_seen_and_gone_before_the_next(tmp_path: Path, harm: str) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "kept.txt").write_text("kept")
    with world(tmp_path / "canary", 0) as made:
        names = {"W": made.writable, "SECRET": made.folder / "secret.txt", "FOLDER": made.folder, "KEPT": kept}
        before = os.getcwd()
        try:
            exec(HARM_TO_THE_WORLD[harm], {name: str(path) for name, path in names.items()})
        finally:
            os.chdir(before)
        assert made.written() != {}
        made.clear()
        assert made.written() == {}
        assert sorted(path.name for path in made.folder.iterdir()) == ["secret.txt", "w"]
    assert (kept / "kept.txt").read_text() == "kept"
    with world(tmp_path / "canary", 0) as again:
        assert again.written() == {}


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.escapes")
def test_attacks_on_the_benchmark_itself_end_none(tmp_path: Path) -> None:
    file = tmp_path / "attacks.json"
    codes = {
        "X1": "import os\nos.mkdir('/tmp/codemode/canary/w/d')",
        "X2": "print('\\0end {', flush=True)",
        "X3": "print('\\0end []', '\\0calls ' + '9' * 5000, flush=True)",
        "X4": "raise ValueError('\\ud800')",
        "X5": "print('\ud800')",
        "X6": "import os\nos.closerange(0, 3)\nos.kill(os.getppid(), 9)",
        "X7": "import os\nfor descriptor in range(3, 20):\n    try:\n        os.write(descriptor, b'[' * 9000)\n"
        "    except OSError:\n        pass",
    }
    file.write_text(json.dumps([{"id": id, "must_not": [], "code": code} for id, code in codes.items()]))
    with world(tmp_path / "canary", 0) as made:
        report = anyio.run(judged, made, read(file), ["monty", "full"], True)
    cases = report["cases"]
    assert isinstance(cases, list)
    assert [(case["id"], case["without"]["effects"]) for case in cases[:7]] == [
        *(
            ("X1", ["write_host_file"]),
            ("X2", []),
            ("X3", []),
            ("X4", []),
            ("X5", []),
            ("X6", ["host_crash"]),
            ("X7", []),
        ),
    ]
    assert [case["id"] for case in cases if not case["held"]] == []
    assert json.loads(as_text(report, True).encode()) == report
    assert "monty X4: held" in as_text(report, False).encode().decode()


@pytest.mark.slow
@pytest.mark.behaviour("benchmarks.escapes")
@pytest.mark.parametrize(
    ("effect", "code"),
    [
        ("procs", "import os\nfor _ in range(60):\n    if os.fork() == 0:\n        os._exit(0)"),
        ("mem", "bytearray(150 << 20)"),
    ],
)
def test_what_an_attack_uses_is_counted_although_nobody_looked_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: str, code: str
) -> None:
    monkeypatch.setattr(watching, "_EVERY", 3_600.0)
    monkeypatch.setattr(effects, "MOST_MEMORY", 100 << 20)
    with world(tmp_path / "canary", 0) as made:
        seen = anyio.run(without, made, Case("X8", "", (effect,), code), 60.0)
    assert seen.effects == (effect,)


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
    attacks = ROOT / "tests" / "providers" / "sandbox" / "attacks"
    command = [python(), "-m", "benchmarks.hostile", "--json", "--seconds", "0", "--rounds", "1"]
    command += [str(attacks / name) for name in ("inner.yaml", "kernel.yaml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    for report in json.loads(done.stdout)["modes"]:
        assert report["answered"] == report["programs"]
        assert report["processes_left"] == 0
        assert report["memory_mb"]["last"] <= report["memory_mb"]["after_the_first_round"] + 16
        assert not [end for end in report["ends"] if end.startswith("SandboxAway")]


@pytest.mark.parametrize(
    ("memory", "found"),
    [
        ([90, 100, 180, 100, 101, 130, 100, 180, 100, 102, 100, 170], []),
        ([100 + 9 * each for each in range(12)], ["memory grew by 54 MB", "the least memory grew by 45 MB"]),
        ([100, 170, 180, 100, 170, 180, 110, 170, 180, 110, 170, 180], ["the least memory grew by 10 MB"]),
        ([100, 200, 300], []),
    ],
)
def test_memory_that_is_held_for_a_moment_is_told_from_what_is_kept(memory: list[int], found: list[str]) -> None:
    report: dict[str, object] = {"programs": 1, "answered": 1, "recorded": 1, "processes_left": 0, "strangers": 0}
    assert problems({**report, "rounds": len(memory), "memory_mb": growth(memory)}) == found
