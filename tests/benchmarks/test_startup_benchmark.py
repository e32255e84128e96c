"""The benchmark of start-up starts what it says it starts."""

import json

import pytest

from benchmarks import startup

MEASURED = ["pegboard --help", "pegboard serve, first initialize", "pegboard serve, ready", "pegboard tools list"]


@pytest.mark.behaviour("benchmarks.run_as_modules")
def test_one_round_measures_every_command_beside_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    assert startup.main(["--quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rows = {row["what"]: row for row in report["rows"]}
    assert report["benchmark"] == "startup"
    assert [what for what, row in rows.items() if row["cpu_s"]] == [*MEASURED, startup.FLOOR]
    assert {what: row["goal_s"] for what, row in rows.items() if row["goal_s"]} == startup.GOALS
    assert rows[startup.FLOOR]["of_floor"] == 1.0
    assert [*report["first_client_ms"]] == ["pegboard serve"]


def test_the_table_says_which_goals_were_met_and_why_a_peer_is_missing() -> None:
    rows = [
        startup.Row("pegboard --help", 0.1, 5.0, 0.15),
        startup.Row("pegboard serve, ready", 1.2, 60.0, 1.0),
        startup.Row("python -c pass", 0.02, 1.0),
        startup.Row("FastMCP", None, remark="could not be installed"),
    ]
    assert [line.split() for line in startup.as_text(rows, [("pegboard serve", 20.4)]).splitlines()[2:]] == [
        ["pegboard", "--help", "0.100", "5.00x", "0.15", "yes"],
        ["pegboard", "serve,", "ready", "1.200", "60.0x", "1.00", "no"],
        ["python", "-c", "pass", "0.020", "1.00x", "-", "-"],
        ["FastMCP", "could", "not", "be", "installed"],
        [],
        ["a", "client", "that", "comes", "at", "once", "waits", "ms"],
        ["---------------------------", "--------"],
        ["pegboard", "serve", "20"],
    ]
