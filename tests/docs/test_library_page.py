"""The page about the library: what it shows runs, and prints what it says."""

import os
import subprocess
import sys

import pytest
from tests.docs.pages import page


@pytest.mark.behaviour("python.library")
def test_the_program_on_the_page_prints_what_the_page_shows() -> None:
    program, shown = (block for block in page("docs/how-to/use-as-a-library.md").blocks[:2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program.text], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == shown.text
