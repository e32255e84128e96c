"""The file of programs that have begun: what a process that is gone had under way, and nothing else."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pegboard.core.calls.programs import StartedRun
from pegboard.core.model.ids import CallId, PrincipalId
from pegboard.store.runs import PROGRAMS_FOLDER, RECORDED_AFTER, ActiveProgramLog, abandoned_programs

START = datetime(2026, 7, 28, 12, tzinfo=UTC)


class _Clock:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at

    def pass_by(self, time: timedelta) -> None:
        self.at += time


def _begun(id: str, clock: _Clock, parent: str | None = None) -> StartedRun:
    above = None if parent is None else CallId(parent)
    return StartedRun(CallId(id), clock.at, PrincipalId("anna"), "a “client”\n", above, "code", 7)


def _left(folder: Path) -> list[StartedRun]:
    with abandoned_programs(folder) as found:
        return [*found]


def _killed(programs: ActiveProgramLog) -> None:
    """The system closes what a process had open."""
    os.close(programs._descriptor)


@pytest.mark.behaviour("code.killed_gateway")
def test_what_was_under_way_is_found_once_its_process_is_gone(tmp_path: Path) -> None:
    clock = _Clock()
    programs = ActiveProgramLog(tmp_path, clock)
    first, second = _begun("a", clock), _begun("b", clock, parent="p")
    programs.begin(first)
    programs.begin(second)
    assert _left(tmp_path) == []
    _killed(programs)
    assert _left(tmp_path) == [first, second]
    assert _left(tmp_path) == []


@pytest.mark.behaviour("code.killed_gateway")
def test_one_that_ended_long_before_is_not_asked_about_and_one_that_just_ended_is(tmp_path: Path) -> None:
    clock = _Clock()
    programs = ActiveProgramLog(tmp_path, clock)
    long_ago, running, just_now = _begun("a", clock), _begun("b", clock), _begun("c", clock)
    for each in (long_ago, running, just_now):
        programs.begin(each)
    programs.end(long_ago.id)
    clock.pass_by(2 * RECORDED_AFTER)
    programs.end(just_now.id)
    _killed(programs)
    assert _left(tmp_path) == [running, just_now]


@pytest.mark.behaviour("code.killed_gateway")
def test_the_file_does_not_grow_with_what_has_ended(tmp_path: Path) -> None:
    clock = _Clock()
    programs = ActiveProgramLog(tmp_path, clock)
    sizes = set[int]()
    for number in range(100, 200):
        programs.begin(_begun(f"a{number}", clock))
        [file] = (tmp_path / PROGRAMS_FOLDER).iterdir()
        sizes.add(file.stat().st_size)
        programs.end(CallId(f"a{number}"))
        clock.pass_by(2 * RECORDED_AFTER)
    assert len(sizes) == 1
    programs.close()
    assert [*(tmp_path / PROGRAMS_FOLDER).iterdir()] == []


@pytest.mark.behaviour("code.killed_gateway")
def test_half_a_line_and_nonsense_keep_nobody_from_the_rest(tmp_path: Path) -> None:
    clock = _Clock()
    programs = ActiveProgramLog(tmp_path, clock)
    programs.begin(_begun("a", clock))
    _killed(programs)
    [file] = (tmp_path / PROGRAMS_FOLDER).iterdir()
    file.write_bytes(b'[]\n\xff\n{"at": 3}\n' + file.read_bytes() + b'{"id":"b","at":"2026-')
    assert _left(tmp_path) == [_begun("a", clock)]


@pytest.mark.behaviour("code.killed_gateway")
def test_where_nothing_can_be_written_programs_run_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / PROGRAMS_FOLDER).write_text("not a folder")
    clock = _Clock()
    programs = ActiveProgramLog(tmp_path, clock)
    programs.begin(_begun("a", clock))
    programs.end(CallId("a"))
    programs.close()
    assert "nobody will know of program a" in caplog.text


@pytest.mark.behaviour("code.killed_gateway")
def test_files_stay_when_what_they_say_could_not_be_kept(tmp_path: Path) -> None:
    clock = _Clock()
    programs = ActiveProgramLog(tmp_path, clock)
    programs.begin(_begun("a", clock))
    _killed(programs)
    with pytest.raises(RuntimeError), abandoned_programs(tmp_path):
        raise RuntimeError("the store is away")
    assert _left(tmp_path) == [_begun("a", clock)]
