"""What a container wrote, as podman keeps it in a file of ours.

What podman hands on itself cannot be relied on: of a program that ends before its input was read, it loses everything
about once in ten times, and says nothing (podman 4.3 with conmon 2.1).
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MAX_LOG_SIZE: Final = "64mb"
"""Far more than a call may write: it bounds what a container writes that nobody watches any more."""


@dataclass(frozen=True)
class ContainerOutput:
    out: bytes
    error: bytes


class ContainerLogFile:
    """The file in which one run is kept, beside what is handed on."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            *("--log-driver", "k8s-file"),
            *("--log-opt", f"path={self._file}", "--log-opt", f"max-size={_MAX_LOG_SIZE}"),
        )

    def read_output(self) -> ContainerOutput | None:
        """`None` where there is no such file, because the engine works on another machine, or started nothing."""
        try:
            content = self._file.read_bytes()
        except OSError:
            return None
        streams: dict[bytes, list[bytes]] = {b"stdout": [], b"stderr": []}
        for line in content.split(b"\n"):
            # Each begins with a time, its stream, and F for a full line or P for a part of one.
            match line.split(b" ", 3):
                case [_, stream, b"F", text] if stream in streams:
                    streams[stream].append(text + b"\n")
                case [_, stream, b"P", text] if stream in streams:
                    streams[stream].append(text)
        return ContainerOutput(b"".join(streams[b"stdout"]), b"".join(streams[b"stderr"]))


@contextmanager
def temporary_log_file() -> Iterator[ContainerLogFile]:
    """Only we can read it, and it is gone with the block."""
    with tempfile.TemporaryDirectory(prefix="pegboard-", ignore_cleanup_errors=True) as folder:
        yield ContainerLogFile(Path(folder) / "written")
