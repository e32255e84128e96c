"""What a toolset command is pointed at: a folder, a ZIP or a toolset.yaml, by the name that a person typed."""

from pathlib import Path

import click


class ToolsetSourceParam(click.Path):
    """An empty name is none: a variable that is not set must not mean this folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if isinstance(value, str) and not value.strip():
            self.fail("this is empty. Name a folder, a ZIP or a toolset.yaml.", param, ctx)
        found = super().convert(value, param, ctx)  # type: ignore[arg-type]  # whatever was typed, as click has it
        assert isinstance(found, Path)
        return found
