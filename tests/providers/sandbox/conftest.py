"""One jailed Python for a module of tests: to try its walls is the longest part of a run."""

from collections.abc import AsyncIterator

import pytest

from pegboard.providers.sandbox.jail.sandbox import FullSandbox


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def full(anyio_backend: str) -> AsyncIterator[FullSandbox]:
    sandbox = FullSandbox()
    try:
        yield sandbox
    finally:
        await sandbox.aclose()
