"""The `pegboard` program."""

from pegboard.compose import Launcher
from pegboard.surfaces.cli.tree import command_tree


def main() -> None:
    command_tree(Launcher())(prog_name="pegboard")


if __name__ == "__main__":
    main()
