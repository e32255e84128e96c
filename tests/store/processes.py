"""Other processes that use the same database."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
from anyio.abc import Process

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


async def started(url: str, *what: str) -> Process:
    return await anyio.open_process(
        [sys.executable, "-m", "tests.store.saver", url, *what],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=None,
    )


async def finished(url: str, *what: str) -> None:
    async with await started(url, *what) as process:
        assert await process.wait() == 0
