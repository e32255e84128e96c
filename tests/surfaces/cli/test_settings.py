"""`pegboard settings`: what holds, and where it comes from."""

import pytest
from tests.surfaces.cli.terminal import Pegboard, peer

BOARD = {"servers": {"one": peer("many", "1")}, "audit": {"keep_days": 7}}


@pytest.mark.behaviour("cli.settings")
def test_every_setting_is_told_with_its_value_and_where_it_comes_from(at_gateway: Pegboard) -> None:
    told = at_gateway("settings")
    assert told.code == 0
    lines = told.out.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "FROM"]
    (kept,) = [line for line in lines if line.startswith("audit.keep_days ")]
    assert kept.split()[1] == "7"
    assert "pegboard.yaml:" in kept
    assert any(line.endswith(" default") for line in lines)
    assert any(line.startswith("store ") for line in lines)
    one = at_gateway("settings", "audit.keep_days").out
    assert "Default: 90" in one
    assert "It is written at " in one


@pytest.mark.behaviour("cli.settings")
def test_settings_are_narrowed_by_words_and_by_where_they_come_from(at_gateway: Pegboard) -> None:
    told = at_gateway("settings", "--from", "file", "--json").json
    assert {each["origin"] for each in told["settings"]} == {"file"}
    assert "audit.keep_days" in {each["key"] for each in told["settings"]}
    none = at_gateway("settings", "no-such-word")
    assert (none.code, "No setting fits." in none.err) == (4, True)
