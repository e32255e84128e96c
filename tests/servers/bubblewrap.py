"""A bubblewrap of the tests' own: Debian's package, unpacked beside the virtual environment and never installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

UNPACKED = Path(sys.prefix) / "bubblewrap"
PROGRAM = UNPACKED / "usr" / "bin" / "bwrap"


class NoBubblewrap(Exception):  # noqa: N818 - it is why a test is skipped
    """Why there is none here."""


def unpack() -> Path:
    """Once. Raises `NoBubblewrap`."""
    if PROGRAM.exists():
        return PROGRAM
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NoBubblewrap("it is unpacked from Debian's package, and there is no apt-get here")
    fresh = UNPACKED.with_name(f"bubblewrap.{os.getpid()}")
    fresh.mkdir()
    try:
        download = ("apt-get", "download", "bubblewrap")
        # What apt-get knows of packages may be of long ago, or nothing at all.
        for line in (download, ("apt-get", "update", "--quiet"), download):
            done = subprocess.run(line, cwd=fresh, capture_output=True, timeout=300)
            if line is download and done.returncode == 0:
                break
        packages = list(fresh.glob("*.deb"))
        if not packages:
            raise NoBubblewrap(f"apt-get download: {done.stderr.decode(errors='replace').strip()[-200:]}")
        subprocess.run(("dpkg-deb", "--extract", packages[0], fresh), check=True, timeout=100)
        if not PROGRAM.exists():
            fresh.rename(UNPACKED)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return PROGRAM
