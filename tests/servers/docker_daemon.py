"""A docker of the tests' own: Debian's packages, unpacked beside the virtual environment and never installed.

Its daemon listens at a socket in a folder and nowhere else. What runs on this machine already is left alone.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("docker.io", "containerd")
UNPACKED = Path(sys.prefix) / "docker"
CLIENT = UNPACKED / "usr" / "bin" / "docker"
DAEMON = UNPACKED / "usr" / "sbin" / "dockerd"
_PATIENCE = 60.0
_NO_NETWORK = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false")
"""The tests' containers have none, and the machine's rules are not to be touched."""


class NoDocker(Exception):  # noqa: N818 - it is why tests are skipped
    """Why there is no docker here."""


def unpack() -> None:
    """Once. Raises `NoDocker`."""
    if DAEMON.exists():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NoDocker("docker is unpacked from Debian's packages, and there is no apt-get here")
    fresh = UNPACKED.with_name(f"docker.{os.getpid()}")
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
            raise NoDocker(f"apt-get download: {_last(done.stderr)}")
        for package in packages:
            subprocess.run(("dpkg-deb", "--extract", package, fresh), check=True, timeout=100)
            package.unlink()
        if not DAEMON.exists():
            fresh.rename(UNPACKED)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def daemon(root: Path) -> Iterator[str]:
    """The address that it listens at; its storage is in the folder. Raises `NoDocker`."""
    if os.geteuid() != 0:
        raise NoDocker("only root can start a docker daemon")
    if not DAEMON.exists():
        raise NoDocker(f"it was not unpacked (python -m {__spec__.parent}.containers does)")
    address = f"unix://{root / 'd.sock'}"
    line = (
        *(str(DAEMON), "--host", address, "--data-root", str(root / "d"), "--exec-root", str(root / "x")),
        *("--pidfile", str(root / "d.pid"), "--storage-driver", "vfs", *_NO_NETWORK),
        *("--exec-opt", "native.cgroupdriver=cgroupfs"),
    )
    search = os.pathsep.join((str(CLIENT.parent), str(DAEMON.parent), os.environ.get("PATH", os.defpath)))
    record = root / "d.log"
    with record.open("wb") as log:
        process = subprocess.Popen(line, env={**os.environ, "PATH": search}, stdout=log, stderr=log)
    try:
        _await(process, address, record)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(process: "subprocess.Popen[bytes]", address: str, record: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise NoDocker(f"the daemon ended with {process.returncode}: {_last(record.read_bytes())}")
        asked = subprocess.run((CLIENT, "--host", address, "version"), capture_output=True, timeout=_PATIENCE)
        if asked.returncode == 0:
            return
        time.sleep(0.1)
    raise NoDocker(f"the daemon did not listen within {_PATIENCE:g} s: {_last(record.read_bytes())}")


def _last(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
