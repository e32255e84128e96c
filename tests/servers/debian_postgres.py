"""The PostgreSQL that Debian packages, with its extensions, in a throwaway folder: for the long runs alone."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDER = Path("/usr/lib/postgresql")
PACKAGES = "postgresql-15 postgresql-15-postgis-3 postgresql-contrib"


class NoDebianPostgresError(Exception):
    """It is not installed: what to do."""


@contextmanager
def debian_postgres() -> Iterator[str]:
    """The URL of its default database, for a superuser. It listens on a socket alone, in a folder of its own."""
    found = sorted(_FOLDER.glob("*/bin/initdb"))
    if not found:
        raise NoDebianPostgresError(f"PostgreSQL of Debian is not installed. Run: apt-get install {PACKAGES}")
    programs = found[-1].parent
    # The server refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pegboard-pg-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        data, socket = folder / "data", f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        subprocess.run(
            [programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres"],
            check=True,
            user=user,
            stdout=subprocess.DEVNULL,
        )
        options = f"{socket} -c shared_preload_libraries=pg_stat_statements"
        control: list[str | Path] = [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        subprocess.run([*control, "-o", options, "start"], check=True, user=user, stdout=subprocess.DEVNULL)
        try:
            yield f"postgresql://postgres:@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, user=user, stdout=subprocess.DEVNULL)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
