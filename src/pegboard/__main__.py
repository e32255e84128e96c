"""The `pegboard` program."""

import sys
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.program import run
from pegboard.surfaces.cli.tree import command_tree

if TYPE_CHECKING:
    from pegboard.compose import Launcher


def main() -> None:
    sys.exit(run(command_tree(_launcher), sys.argv[1:]))


def _launcher() -> "Launcher":
    from pegboard.compose import Launcher

    return Launcher()


if __name__ == "__main__":
    main()
