"""The `pegboard` program."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard.compose.launcher import Launcher


def main() -> None:
    try:
        # Imported here, so that Ctrl-C while they load ends as quietly as any other.
        from pegboard.surfaces.cli.late_packages import open_late
        from pegboard.surfaces.cli.program import run
        from pegboard.surfaces.cli.tree import command_tree

        open_late()
        sys.exit(run(command_tree(_launcher), sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)


def _launcher() -> "Launcher":
    from pegboard.compose.launcher import Launcher

    return Launcher()


if __name__ == "__main__":
    main()
