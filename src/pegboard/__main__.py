"""The `pegboard` program."""

import gc
import sys
from typing import TYPE_CHECKING, Final

from pegboard.late_packages import open_late

if TYPE_CHECKING:
    from pegboard.bootstrap.launcher import CommandLauncher


YOUNG_OBJECTS: Final = 50_000
"""Objects after which those made last are looked through for cycles. Imports make many that stay: with Python's own
number, a tenth of a start goes into looking through them."""


def main() -> None:
    gc.set_threshold(YOUNG_OBJECTS)
    open_late()
    try:
        # Imported here, so that Ctrl-C while they load ends as quietly as any other.
        from pegboard.surfaces.cli.main import command_tree, run

        sys.exit(run(command_tree(_launcher), sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)


def _launcher() -> "CommandLauncher":
    from pegboard.bootstrap.launcher import CommandLauncher

    return CommandLauncher()


if __name__ == "__main__":
    main()
