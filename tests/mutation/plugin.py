"""The part of the recorder that pytest loads: says which test file is running, and how long each takes."""

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.mutation.recorder import RECORDERS

LOG_FOLDER = Path(os.environ["PEGBOARD_MUTATION_LOG"])
SECONDS: dict[str, float] = defaultdict(float)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    test_file = item.nodeid.partition("::")[0]
    current = LOG_FOLDER / f"{os.getpid()}.current"
    if not current.exists() or current.read_text("utf-8") != test_file:
        current.write_text(test_file, "utf-8")
        for recorder in RECORDERS:
            recorder.read_test_file()
    before = time.monotonic()
    result = yield
    SECONDS[test_file] += time.monotonic() - before
    return result


def pytest_sessionfinish() -> None:
    (LOG_FOLDER / f"{os.getpid()}.seconds").write_text(json.dumps(SECONDS), "utf-8")
