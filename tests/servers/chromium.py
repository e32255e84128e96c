"""The browser of the tests: Debian's Chromium, installed where it is missing and may be.

Run as a program it does only that: `python -m tests.servers.chromium`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

BROWSERS: Final = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
SHELL: Final = Path("/usr/bin/chromium-headless-shell")
PACKAGES: Final = ("chromium", "chromium-headless-shell")
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class NoChromium(Exception):  # noqa: N818 - it is why tests are skipped
    """Why there is no Chromium here."""


def chromium() -> Path:
    """The browser as people have it. Raises `NoChromium`."""
    for place in BROWSERS:
        if Path(place).exists():
            return Path(place)
    _install()
    return Path(BROWSERS[0])


def headless_shell() -> Path:
    """Chromium without windows and back/forward cache, which needs less CPU; the full browser if it is not installed.

    Raises `NoChromium`."""
    browser = chromium()
    return SHELL if SHELL.exists() else browser


def _install() -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise NoChromium("Chromium is not installed, and only root can install Debian's package of it")
    install = ("apt-get", "install", "--quiet", "--yes", "--no-install-recommends", *PACKAGES)
    # What apt-get knows of packages may be of long ago, or nothing at all.
    for line in (install, ("apt-get", "update", "--quiet"), install):
        done = subprocess.run(
            line, capture_output=True, timeout=600, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        )
        if line is install and done.returncode == 0:
            break
    if not Path(BROWSERS[0]).exists():
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NoChromium(f"apt-get install {' '.join(PACKAGES)}: {said[-1] if said else 'it said nothing'}")


if __name__ == "__main__":
    try:
        if not (SHELL.exists() and Path(BROWSERS[0]).exists()):
            _install()
    except NoChromium as why:
        # Whether that is bad is for the tests to say: in CI they fail without it, elsewhere they are skipped.
        print(f"Tests with a browser are skipped: {why}", file=sys.stderr)
