"""An import that ends the process, or its disk, at one step: `python -m tests.e2e.killed_import STEP DATA SOURCE`."""

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from tests.support.toolsets import brought, housed

from pegboard.gateway.operator import Operator
from pegboard.gateway.toolsets import installer
from pegboard.gateway.toolsets.files import FilesUnavailable, ToolsetFiles
from pegboard.gateway.toolsets.reader import InvalidToolsetError


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_before(owner: object, name: str) -> None:
    setattr(owner, name, die)


def die_after(owner: type, name: str) -> None:
    real: Callable[..., Any] = getattr(owner, name)

    async def act_async(*args: Any, **kwargs: Any) -> None:
        await real(*args, **kwargs)
        die()

    def act(*args: Any, **kwargs: Any) -> None:
        real(*args, **kwargs)
        die()

    setattr(owner, name, act_async if name == "execute" else act)


async def main(step: str, data: Path, source: Path) -> None:
    async with housed(data) as house:
        match step:
            case "read":
                die_before(installer.ToolsetInstaller, "_manifest_at_destination")
            case "describe":
                die_before(installer, "make_install_command")
            case "put":
                die_before(ToolsetFiles, "place")
            case "placed":
                die_after(ToolsetFiles, "place")
            case "saved":
                die_after(Operator, "execute")
            case "kept":
                die_after(ToolsetFiles, "delete_all_except")
            case "too large":
                resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        try:
            await brought(house, source)
        except (InvalidToolsetError, FilesUnavailable) as error:
            print(error)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
