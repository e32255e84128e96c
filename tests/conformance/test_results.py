"""What the suite writes is read whole, held against what we know, and told in tables."""

import json
from pathlib import Path

from inline_snapshot import snapshot
from tests.conformance.checks import Check, CheckId, Score, by_scenario, missing, read, score
from tests.conformance.known import Known, Shortfall, Surprise, known, shortfalls, surprises
from tests.conformance.record import Record, as_json, loaded, record_of, renewed, run_of
from tests.conformance.suite import VERSIONS
from tests.conformance.tables import scenarios, table
from tests.conformance.ways import WAYS

PING = CheckId("ping", "ping", "Ping")
FIRST = CheckId("lists", "meta-400", "Meta400")
SECOND = CheckId("lists", "meta-400", "Meta400", 2)
MODEL = {PING: Check("passed"), FIRST: Check("passed"), SECOND: Check("passed")}


def written(folder: Path, name: str, *checks: dict[str, str]) -> None:
    (folder / name).mkdir()
    (folder / name / "checks.json").write_text(json.dumps(checks), "utf-8")


def test_every_verdict_is_read_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    meta = {"id": "meta-400", "name": "Meta400"}
    written(
        tmp_path,
        "server-lists-2026-11-15T07-45-23-800Z",
        {**meta, "status": "SUCCESS"},
        {**meta, "status": "FAILURE", "errorMessage": "got 200"},
        {"id": "note", "name": "Note", "status": "INFO"},
        {"id": "later", "name": "Later", "status": "SKIPPED"},
    )
    written(tmp_path, "server-ping-2026-11-15T07-45-24-1Z", {"id": "ping", "name": "Ping", "status": "WARNING"})
    assert read(tmp_path) == {FIRST: Check("passed"), SECOND: Check("failed", "got 200"), PING: Check("warned")}


def test_checks_are_counted_by_scenario() -> None:
    found = {PING: Check("passed"), FIRST: Check("failed"), SECOND: Check("warned")}
    assert score(found.values()) == Score(1, 1, 1)
    assert by_scenario(found) == {"ping": Score(1, 0, 0), "lists": Score(0, 1, 1)}
    assert missing({PING: Check("passed")}, MODEL) == (FIRST, SECOND)


def test_what_falls_short_is_a_surprise_unless_it_is_known() -> None:
    fell = shortfalls({PING: Check("failed", "no answer"), FIRST: Check("passed")}, MODEL)
    assert fell == (Shortfall(PING, "failed", "no answer"), Shortfall(SECOND, "not reached"))
    entries = (
        Known("ping:ping", "failed", VERSIONS, ("http*",), "why not"),
        Known("lists:meta-400", "not reached", ("2025-11-25",), ("alone", "http"), "why not"),
    )
    assert surprises("http", "2025-11-25", fell, entries) == ()
    assert surprises("http-stateless", "2026-07-28", fell, entries) == (
        Surprise("lists", "http-stateless 2026-07-28: lists:meta-400#2 (Meta400) not reached"),
    )
    assert surprises("alone", "2026-07-28", fell[:1], entries) == (
        Surprise("ping", "alone 2026-07-28: ping:ping (Ping) failed: no answer"),
    )


def test_a_known_failure_that_passes_is_a_surprise_too() -> None:
    entry = Known("ping:ping", "failed", VERSIONS, ("alone",), "why not")
    assert surprises("alone", "2025-11-25", (), [entry]) == (
        Surprise(
            "ping", "alone 2025-11-25: ping:ping is known as 'failed' and is not any more. Take it out of known.yaml."
        ),
    )
    warned = [Shortfall(PING, "warned")]
    assert len(surprises("alone", "2025-11-25", warned, [entry])) == 2


def test_a_record_reads_as_it_was_written(tmp_path: Path) -> None:
    runs = tuple(
        run_of(way, version, {PING: Check("failed")}, MODEL) for way in ("alone", "http") for version in VERSIONS
    )
    file = tmp_path / "record.json"
    file.write_text(as_json(record_of(runs)), "utf-8")
    assert loaded(file) == Record("0.2.0-alpha.12", runs)


def test_a_new_run_takes_the_place_of_the_old_one_of_the_same_way_and_version() -> None:
    old = [run_of(way, "2026-07-28", {PING: Check("failed")}, MODEL) for way in ("alone", "http")]
    new = run_of("alone", "2026-07-28", MODEL, MODEL)
    assert renewed(record_of(tuple(old)), record_of((new,))) == record_of((new, old[1]))


def test_scenarios_are_told_side_by_side() -> None:
    alone = run_of("alone", "2026-07-28", MODEL, MODEL)
    through = run_of("http", "2026-07-28", {PING: Check("warned")}, MODEL)
    rows = scenarios(record_of((alone, through)), "2026-07-28", ("alone", "http"))
    assert table(rows) == snapshot("""\
scenario  alone  http
--------  -----  -------
ping      1/0    0/0 +1w
lists     2/0
total     3/0    0/0 +1w\
""")


def test_what_is_known_names_ways_there_are_and_says_why() -> None:
    names = [way.name for way in WAYS]
    for entry in known():
        assert entry.reason, entry
        assert any(entry.covers(name, version) for name in names for version in VERSIONS), entry
