"""Which log messages a client hears."""

import pytest

from pegboard.core.json.values import Json
from pegboard.surfaces.mcp import session_state as levels
from pegboard.surfaces.mcp.session_state import NO_LOGS, LogLevels, meets_level, requested_log_level


@pytest.mark.behaviour("mcp.out.logging")
@pytest.mark.parametrize(
    ("told", "level", "heard"),
    [
        ("debug", None, True),
        ("debug", "info", False),
        ("info", "info", True),
        ("emergency", "info", True),
        ("emergency", NO_LOGS, False),
        ("chatter", "error", True),
        (["info"], "error", True),
        (None, "error", True),
    ],
)
def test_a_message_is_heard_from_the_level_on(told: object, level: str | None, heard: bool) -> None:
    assert meets_level({"level": told}, level) is heard  # type: ignore[dict-item]  # whatever a server writes there


def test_only_levels_of_the_protocol_are_wanted() -> None:
    told: list[Json] = ["info", "none", "", 7, None, []]
    assert [requested_log_level(level) for level in told] == ["info", None, None, None, None, None]


def test_sessions_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MAX_SESSIONS", 2)
    known = LogLevels()
    for session, level in (("a", "info"), ("b", "error"), ("a", "debug"), ("c", "alert")):
        known.set_level(session, level)
    assert [known.get(session) for session in ("a", "b", "c")] == ["debug", None, "alert"]
    known.forget("a")
    known.forget("a")
    assert known.get("a") is None
