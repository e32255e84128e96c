"""One gateway with a chat for all tests of a module: each brings models of its own."""

from collections.abc import Iterator

import pytest
from tests.surfaces.chat.place import Place, opened


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with opened(tmp_path_factory.mktemp("chat")) as place:
        yield place


@pytest.fixture(scope="module")
def text_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """No model calls tools natively, whatever its family can."""
    settings = {"prompts": {"formats": ["family", "hermes"]}}
    with opened(tmp_path_factory.mktemp("text"), **settings) as place:
        yield place
