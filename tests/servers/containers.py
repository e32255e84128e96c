"""Real container engines for the tests: podman and docker, each with a storage of its own and one small image made from
busybox.

Run as a program it installs what is missing, where it may: `python -m tests.servers.containers`. No registry is asked
for anything: the image is imported from a folder.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.servers import bubblewrap, docker_daemon

from pegboard.config.keys.features import ContainerSettings

IMAGE = "localhost/pegboard-tests:1"
LABELLED = "localhost/pegboard-tests-labelled:1"
LABEL = '[{"id":"shout","command":["tr","a-z","A-Z"],"description":"Shouts."}]'
PACKAGES = ("podman", "runc", "busybox-static")
APPLETS = "awk cat dd echo env false head hostname id ls printf ps sed sh sleep tail touch tr true wc yes"
_HERE = Path(__file__).parent / "boxes"
_ULIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
_WAYS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((), ()),
    # What a container itself, without an init and without a limit it may raise, needs to run others.
    (("--runtime", "runc", "--cgroup-manager", "cgroupfs"), _ULIMITS),
)


class NoContainers(Exception):  # noqa: N818 - it is why tests are skipped
    """Why no container can be run here."""


@dataclass(frozen=True)
class Host:
    """An engine that works here, with nothing in its storage but our images."""

    name: str
    program: str
    settings: ContainerSettings
    root: Path

    def __call__(self, *arguments: str, given: bytes | None = None) -> str:
        """What it says; raises `NoContainers` when it fails."""
        line = (self.program, *self.settings.global_flags, *arguments)
        done = subprocess.run(line, input=given, capture_output=True, timeout=100)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise NoContainers(f"{' '.join(arguments[:2])}: {lines[-1] if lines else done.returncode}")
        return done.stdout.decode()

    def left(self) -> list[str]:
        """The names of all containers, running or not."""
        return self("ps", "--all", "--format", "{{.Names}}").split()

    def missing(self, image: str) -> str:
        """How it tells that it has no such image."""
        return f"No such image: {image}" if self.name == "docker" else f"{image}: image not known"

    def clear(self) -> None:
        if left := self.left():
            self("rm", "--force", *left)


@contextmanager
def docker() -> Iterator[Host]:
    """Raises `NoContainers`. The daemon and its storage go with the block."""
    root = Path(tempfile.mkdtemp(prefix="pgb-", dir="/tmp"))
    try:
        _make_rootfs(root)
        with docker_daemon.daemon(root) as address:
            client = str(docker_daemon.CLIENT)
            engine = Host("docker", client, ContainerSettings(client, _ULIMITS, ("--host", address)), root)
            _bring_images(engine)
            engine("run", "--rm", "--network", "none", *engine.settings.flags, IMAGE, "true")
            yield engine
            engine.clear()
    except docker_daemon.NoDocker as why:
        raise NoContainers(str(why)) from why
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def podman() -> Iterator[Host]:
    """Raises `NoContainers`. The storage goes with the block."""
    for needed in ("podman", "busybox"):
        if shutil.which(needed) is None:
            raise NoContainers(f"{needed} is not installed (Debian: apt-get install {' '.join(PACKAGES)})")
    # Short, because sockets lie in it.
    root = Path(tempfile.mkdtemp(prefix="pgb-", dir="/tmp"))
    try:
        engine = _working(root)
        yield engine
        with suppress(NoContainers):
            engine.clear()
    finally:
        shutil.rmtree(root, ignore_errors=True)
        if root.exists():  # files of other users, as a podman without root makes them
            subprocess.run(("podman", "unshare", "rm", "-rf", str(root)), capture_output=True, check=False)


def _bring_images(engine: Host) -> None:
    files = str(engine.root / "rootfs.tar")
    engine("import", files, IMAGE)
    # docker reads a change as a line of a Dockerfile, with quotes; podman takes all after the first `=` as it is.
    label = json.dumps(LABEL) if engine.name == "docker" else LABEL
    engine("import", "--change", f"LABEL io.pegboard.tools={label}", files, LABELLED)


def _working(root: Path) -> Host:
    store = ("--root", str(root / "s"), "--runroot", str(root / "r"), "--tmpdir", str(root / "t"))
    _make_rootfs(root)
    why = NoContainers("podman cannot run a container")
    for global_flags, flags in _WAYS:
        settings = ContainerSettings("podman", flags, (*store, "--storage-driver", "vfs", *global_flags))
        engine = Host("podman", "podman", settings, root)
        try:
            _bring_images(engine)
            engine("run", "--rm", "--network", "none", *flags, IMAGE, "true")
        except NoContainers as error:
            why = error
        else:
            return engine
    raise why


def _make_rootfs(root: Path) -> None:
    files = root / "rootfs"
    for folder in ("bin", "tools", "etc", "proc", "sys", "dev", "tmp", "workspace"):
        (files / folder).mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox is not None
    shutil.copy(busybox, files / "bin" / "busybox")
    for applet in APPLETS.split():
        (files / "bin" / applet).symlink_to("busybox")
    for script in _HERE.iterdir():
        shutil.copy(script, files / "tools" / script.name)
        (files / "tools" / script.name).chmod(0o755)
    subprocess.run(("tar", "-C", str(files), "-cf", str(root / "rootfs.tar"), "."), check=True)


def install() -> int:
    """What is missing, by root where there is apt-get; elsewhere only what to do is told."""
    code = _install_podman()
    if os.geteuid() == 0:
        try:
            docker_daemon.unpack()
        except docker_daemon.NoDocker as why:
            print(f"Tests of containers with docker are skipped: {why}", file=sys.stderr)
    try:
        bubblewrap.unpack()
    except bubblewrap.NoBubblewrap as why:
        print(f"The test of programs behind bubblewrap is skipped: {why}", file=sys.stderr)
    return code


def _install_podman() -> int:
    if all(shutil.which(program) for program in ("podman", "runc", "busybox")):
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        told = f"Tests of containers need podman and a static busybox (Debian: apt-get install {' '.join(PACKAGES)})"
        print(f"{told}. Without, they are skipped.", file=sys.stderr)
        return 0
    print("Installing what the tests of containers need (podman, runc, busybox) …", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ("apt-get", "-o", "DPkg::Lock::Timeout=120", "install", "--yes", "--quiet", *PACKAGES)
    for line in (install, ("apt-get", "update", "--quiet"), install):
        done = subprocess.run(line, env=environment, capture_output=True, check=False)
        if line is install and done.returncode == 0:
            return 0
    print(done.stderr.decode(errors="replace").strip(), file=sys.stderr)
    # Whether that is bad is for the tests to say: in CI they fail without an engine, elsewhere they are skipped.
    return 0


if __name__ == "__main__":
    sys.exit(install())
