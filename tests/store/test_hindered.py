"""A database that is held by another program, or has no room left: records wait, and none is lost."""

import logging
import resource
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.store.calls import record
from tests.store.engines import now

from pegboard.ports.audit import AuditQuery, AuditRow
from pegboard.store.audit import AuditLimits
from pegboard.store.open import open_store

pytestmark = pytest.mark.anyio


def largest(folder: Path) -> int:
    return max(file.stat().st_size for file in folder.iterdir())


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage().split(":")[0] for line in caplog.records if line.levelno == logging.WARNING]


def ids(rows: Sequence[AuditRow]) -> list[str]:
    return [row.call_id for row in rows]


async def told(caplog: pytest.LogCaptureFixture) -> None:
    """Until it was told that records wait."""
    while not warnings(caplog):
        await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("audit.bounded")
async def test_a_database_that_another_program_holds_loses_no_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "pegboard.db"
    async with open_store(f"sqlite:///{file}", clock=now, limits=AuditLimits(batch_delay_s=0), patience=0.05) as store:
        with anyio.fail_after(60):
            holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
            holder.execute("BEGIN IMMEDIATE")
            for number in range(5):
                store.audit.record(record(id=str(number)))
            await told(caplog)
            holder.execute("COMMIT")
            holder.close()
            await store.audit.flush()
        assert ids(await store.audit.rows(AuditQuery())) == ["4", "3", "2", "1", "0"]
    assert warnings(caplog) == [
        "Calls cannot be recorded now, and wait in memory",
        "Calls are recorded again. Dropped since the start",
    ]
    assert "is held by another process" in caplog.text


@pytest.mark.behaviour("audit.bounded")
async def test_a_full_disk_loses_no_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A limit on the size of files stands for it: to a program, both are a write that fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with open_store(
        f"sqlite:///{tmp_path / 'pegboard.db'}", clock=now, limits=AuditLimits(batch_delay_s=0)
    ) as store:
        store.audit.record(record(id="before"))
        await store.audit.flush()
        size = largest(tmp_path)
        with anyio.fail_after(60):
            try:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
                for number in range(500):
                    store.audit.record(record(id=str(number), client="x" * 500))
                await told(caplog)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            await store.audit.flush()
        rows = await store.audit.rows(AuditQuery(limit=1000))
    assert ids(rows) == [*map(str, range(499, -1, -1)), "before"]
    assert (store.audit.dropped_count, "Free some space on its disk" in caplog.text) == (0, True)
