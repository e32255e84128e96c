"""One podman for all tests of a worker, with a storage of its own that is gone afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers import containers

from pegboard.providers.container.box import Board


@pytest.fixture(scope="session")
def podman() -> Iterator[containers.Podman]:
    """Where no container can run, its tests are skipped, and in CI they fail."""
    try:
        with containers.podman() as engine:
            yield engine
    except containers.NoContainers as why:
        pytest.skip(f"no container can run here: {why}")


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(tmp_path / "data")
