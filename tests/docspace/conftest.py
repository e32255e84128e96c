"""DocSpace is asked again soon: the stand-in is done as soon as it says so."""

from functools import partial

import pytest

from pegboard.providers.docspace import operations
from pegboard.providers.docspace import provider as hall
from pegboard.providers.docspace.limits import DocSpaceLimits


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for gateways in this process. Each of a hundred calls would wait for a tenth of a second or more."""
    monkeypatch.setattr(operations, "_FIRST_POLL_INTERVAL_S", 0.005)
    monkeypatch.setattr(hall, "DocSpaceLimits", partial(DocSpaceLimits, retry_pause_s=0.005))
