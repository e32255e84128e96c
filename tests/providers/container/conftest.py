"""One podman and one docker for all tests of a worker, each with a storage of its own that is gone afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers import containers

from pegboard.providers.container.flags import ContainerNamespace


@pytest.fixture(scope="session", params=["podman", "docker"])
def host(request: pytest.FixtureRequest) -> Iterator[containers.Host]:
    """Where no container can run, its tests are skipped, and in CI they fail."""
    started = {"podman": containers.podman, "docker": containers.docker}[request.param]
    try:
        with started() as engine:
            yield engine
    except containers.NoContainers as why:
        pytest.skip(f"no container can run here with {request.param}: {why}")


@pytest.fixture
def board(tmp_path: Path) -> ContainerNamespace:
    return ContainerNamespace(tmp_path / "data")
