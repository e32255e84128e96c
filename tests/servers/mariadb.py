"""A MariaDB of the tests' own: Debian's packages, unpacked beside the virtual environment and never installed.

Run as a program it unpacks them, where it may: `python -m tests.servers.mariadb`. A server keeps its data in a
folder, listens at a socket there and nowhere else, and both go with the test.
"""

import os
import shutil
import socket as sockets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("mariadb-server-core", "libaio1", "libnuma1", "liburing2", "libpcre2-8-0")
UNPACKED = Path(sys.prefix) / "mariadb"
SERVER = UNPACKED / "usr" / "sbin" / "mariadbd"
_SHARED = UNPACKED / "usr" / "share" / "mysql"
_TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql", "maria_add_gis_sp_bootstrap.sql")
_PATIENCE = 60.0


class NoMariadb(Exception):  # noqa: N818 - it is why tests are skipped
    """Why there is no MariaDB here."""


def unpack() -> None:
    """Once. Raises `NoMariadb`."""
    if SERVER.exists():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NoMariadb("MariaDB is unpacked from Debian's packages, and there is no apt-get here")
    fresh = UNPACKED.with_name(f"mariadb.{os.getpid()}")
    fresh.mkdir()
    try:
        download = ("apt-get", "download", *PACKAGES)
        # What apt-get knows of packages may be of long ago, or nothing at all.
        for line in (download, ("apt-get", "update", "--quiet"), download):
            done = subprocess.run(line, cwd=fresh, capture_output=True, timeout=300)
            if line is download and done.returncode == 0:
                break
        packages = list(fresh.glob("*.deb"))
        if len(packages) != len(PACKAGES):
            raise NoMariadb(f"apt-get download: {_last(done.stderr)}")
        for package in packages:
            subprocess.run(("dpkg-deb", "--extract", package, fresh), check=True, timeout=100)
            package.unlink()
        if not SERVER.exists():
            fresh.rename(UNPACKED)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def server() -> Iterator[Path]:
    """The socket that it listens at; `root` gets in there without a password. Raises `NoMariadb`."""
    unpack()
    # Short, because a socket lies in it.
    root = Path(tempfile.mkdtemp(prefix="pgb-my-", dir="/tmp"))
    try:
        base = _line(root)
        _bootstrap(base)
        socket = root / "s.sock"
        with (root / "log").open("wb") as log:
            process = subprocess.Popen(
                (*base, f"--socket={socket}", f"--pid-file={root / 'pid'}", "--skip-networking"),
                env=_environment(),
                stdout=log,
                stderr=log,
            )
        try:
            _await(process, socket, root / "log")
            yield socket
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _line(root: Path) -> tuple[str, ...]:
    (root / "d").mkdir()
    return (
        *(str(SERVER), "--no-defaults", f"--datadir={root / 'd'}", f"--basedir={UNPACKED / 'usr'}", "--user=root"),
        *(f"--lc-messages-dir={_SHARED}", f"--character-sets-dir={_SHARED / 'charsets'}", f"--tmpdir={root}"),
        # Throwaway data need not survive a crash.
        *(
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=16M",
            "--skip-log-bin",
        ),
        *(
            "--max-connections=60",
            "--performance-schema=OFF",
            "--aria-pagecache-buffer-size=8M",
            "--key-buffer-size=8M",
        ),
    )


def _bootstrap(base: tuple[str, ...]) -> None:
    script = "create database if not exists mysql;\nuse mysql;\n"
    script += "".join((_SHARED / name).read_text() for name in _TABLES)
    made = subprocess.run(
        (*base, "--bootstrap", "--log-warnings=0", "--max-allowed-packet=8M", "--net-buffer-length=16K"),
        input=script.encode(),
        env=_environment(),
        capture_output=True,
        timeout=_PATIENCE,
    )
    if made.returncode:
        raise NoMariadb(f"its tables could not be made: {_last(made.stderr)}")


def _environment() -> dict[str, str]:
    libraries = UNPACKED / "usr" / "lib"
    found = sorted({str(file.parent) for folder in (libraries, UNPACKED / "lib") for file in folder.rglob("*.so.*")})
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(found)}


def _await(process: "subprocess.Popen[bytes]", socket: Path, record: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise NoMariadb(f"the server ended with {process.returncode}: {_last(record.read_bytes())}")
        with sockets.socket(sockets.AF_UNIX) as knocking:
            if knocking.connect_ex(str(socket)) == 0:
                return
        time.sleep(0.05)
    raise NoMariadb(f"the server did not listen within {_PATIENCE:g} s: {_last(record.read_bytes())}")


def _last(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


if __name__ == "__main__":
    try:
        unpack()
    except NoMariadb as why:
        # Whether that is bad is for the tests to say: in CI they fail without it, elsewhere they are skipped.
        print(f"Tests with MariaDB are skipped: {why}", file=sys.stderr)
