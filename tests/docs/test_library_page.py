"""The page about the library: what it shows runs, and prints what it says."""

import subprocess

import pytest
from tests.docs.pages import Block, page
from tests.support.fork_server import python


def blocks() -> tuple[Block, ...]:
    return tuple(page("docs/how-to/use-as-a-library.md").blocks)


def printed(program: Block) -> str:
    done = subprocess.run([python(), "-c", program.text], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.behaviour("python.library")
def test_the_program_on_the_page_prints_what_the_page_shows() -> None:
    program, shown = blocks()[:2]
    assert printed(program) == shown.text


@pytest.mark.behaviour("deferred.automatic")
def test_the_program_that_searches_before_the_first_turn_prints_what_the_page_shows() -> None:
    program, shown = blocks()[3:5]
    assert printed(program) == shown.text


@pytest.mark.behaviour("prompt.library")
def test_the_program_that_asks_a_model_prints_what_the_page_shows() -> None:
    program, shown = blocks()[5:7]
    assert printed(program) == shown.text
