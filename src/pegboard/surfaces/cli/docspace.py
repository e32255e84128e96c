"""`pegboard docspace …`: whether a DocSpace is there, as whom it is asked, and what may be seen of it."""

from pathlib import Path

import click

from .link import DocSpaceCheck, Options
from .options import config_option, data_dir_option, json_option, launcher
from .output import Exit, print_json, print_text
from .running import run_to_end
from .text import one_line


@click.group()
def docspace() -> None:
    """ONLYOFFICE DocSpace: its four toolsets on the board."""


@docspace.command()
@config_option
@data_dir_option
@json_option
def check(config: Path | None, data_dir: Path | None, as_json: bool) -> int:
    """Try the DocSpace of pegboard.yaml or of the DOCSPACE_* variables: who you are there, and what you may see.

    Nothing is changed there. Ends with 3 for settings that cannot be used, 4 where no DocSpace is, 5 for credentials
    that it refuses and 6 when it cannot be reached.
    """

    async def run_check() -> int:
        found = await launcher().check_docspace(Options(config, data_dir))
        if as_json:
            print_json(
                {
                    "baseUrl": found.base_url,
                    "name": found.name,
                    "email": found.email,
                    "role": found.role,
                    "sees": {what: why is None for what, why in found.part_errors.items()},
                    "whyNot": {what: why for what, why in found.part_errors.items() if why is not None},
                }
            )
        else:
            print_text("\n".join(report_lines(found)))
        return Exit.OK

    return run_to_end(run_check)


def report_lines(found: DocSpaceCheck) -> list[str]:
    if found.base_url is None:
        return [
            "Each caller brings a DocSpace and credentials of its own, so there is nothing to try here.",
            "Who comes by pegboard stdio cannot, and is told: No authentication method.",
        ]
    # What DocSpace says of itself stands on lines of ours, and makes none.
    name, email = one_line(found.name), one_line(found.email)
    who = f"{name} <{email}>" if email else name or "somebody without a name"
    lines = [f"{found.base_url} is a DocSpace, and you are {who} there, {found.role}."]
    for what, why in found.part_errors.items():
        lines.append(f"  {what:<10} {'you may see them' if why is None else f'refused: {one_line(why)}'}")
    return lines
