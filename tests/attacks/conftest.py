"""What holds for every siege."""

import pytest

from pegboard.providers.mcp import lifecycle as life


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says that its tools changed is asked again once a second at most. An attacker would wait."""
    monkeypatch.setattr(life, "_MIN_INTERVAL_S", 0.01)
    monkeypatch.setattr(life, "_SETTLE_S", 0.01)
