"""Overrides held against what servers really take: with values, which only a check of schemas can judge."""

import shlex
from collections.abc import Iterator
from typing import Final, assert_never

from pegboard.config.pinned import ADVICE, clear_secrets
from pegboard.core.characters import escape_name
from pegboard.core.misfit import Misfit, misfits
from pegboard.core.override import Override
from pegboard.core.server import DeclaredAt, InstalledBy, Origin

from .doctor import Finding
from .gateway import Gateway

_DEFINING: Final = ("$schema", "$defs", "definitions")


def all_misfits(gateway: Gateway) -> tuple[Misfit, ...]:
    board = gateway.board
    board.look_again()
    return tuple(misfits(board.catalogue, board.policy))


def unfit_overrides(gateway: Gateway) -> Iterator[Finding]:
    for misfit in all_misfits(gateway):
        row = misfit.override
        about = str(row.target if misfit.tool is None else misfit.tool)
        place = row.origin(misfit.field) if misfit.field is not None else next(iter(row.origins.values()), None)
        where = "" if place is None else f" ({_whose(place)})"
        mend = f"Edit {place}" if isinstance(place, DeclaredAt) and not row.manifest else _command(row, misfit.field)
        what = f"Override of {escape_name(str(row.target))} in {row.toolset}{where}: {misfit.what}"
        yield Finding(about, what, mend, grave=False)


def clear_pins(gateway: Gateway) -> Iterator[Finding]:
    """Of the store alone: in a file of their own, operators may write what they like."""
    decided = gateway.board.policy.decided
    for row in (*decided.manifest_overrides, *decided.overrides):
        for name, argument in (row.arguments or {}).items():
            for place in clear_secrets(name, argument):
                told = (
                    f"Override of {escape_name(str(row.target))} in {row.toolset}: what is pinned at {place} {ADVICE}."
                )
                again = "" if row.manifest else "   Then pin it again"
                yield Finding(str(row.target), told, f"{_command(row, f'arguments.{name}')}{again}")


def _whose(origin: Origin) -> str:
    match origin:
        case DeclaredAt():
            return str(origin)
        case InstalledBy(by, at):
            return f"by {by} on {at:%Y-%m-%d}"
        case _:
            assert_never(origin)


def _command(row: Override, field: str | None) -> str:
    if row.manifest:
        return f"Mend the toolset.yaml of {row.toolset} and import it again: pegboard toolset import"
    rest = f" {field}" if field is not None else ""
    return f"pegboard overrides clear {shlex.quote(str(row.target))}{rest} --toolset {row.toolset}"
