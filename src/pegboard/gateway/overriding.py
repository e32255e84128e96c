"""Overrides held against what servers really take: with values, which only a check of schemas can judge."""

import shlex
from collections.abc import Iterator
from typing import Final, assert_never

from pegboard.config.pinned import PIN_ADVICE, plaintext_secrets
from pegboard.core.characters import escape_name
from pegboard.core.misfit import OverrideMisfit, override_misfits
from pegboard.core.override import Override
from pegboard.core.server import DeclaredAt, InstalledBy, Origin

from .doctor import BoardIssue
from .gateway import Gateway

_DEFINITION_KEYWORDS: Final = ("$schema", "$defs", "definitions")


def all_misfits(gateway: Gateway) -> tuple[OverrideMisfit, ...]:
    board = gateway.board
    board.refresh_values()
    return tuple(override_misfits(board.catalogue, board.policy))


def unfit_overrides(gateway: Gateway) -> Iterator[BoardIssue]:
    for misfit in all_misfits(gateway):
        row = misfit.override
        about = str(row.target if misfit.tool is None else misfit.tool)
        place = row.origin(misfit.field) if misfit.field is not None else next(iter(row.origins.values()), None)
        where = "" if place is None else f" ({_owner(place)})"
        mend = (
            f"Edit {place}" if isinstance(place, DeclaredAt) and not row.from_manifest else _command(row, misfit.field)
        )
        what = f"Override of {escape_name(str(row.target))} in {row.toolset}{where}: {misfit.problem}"
        yield BoardIssue(about, what, mend, grave=False)


def clear_pins(gateway: Gateway) -> Iterator[BoardIssue]:
    """Of the store alone: in a file of their own, operators may write what they like."""
    decided = gateway.board.policy.decisions
    for row in (*decided.manifest_overrides, *decided.overrides):
        for name, argument in (row.arguments or {}).items():
            for place in plaintext_secrets(name, argument):
                told = (
                    f"Override of {escape_name(str(row.target))} in {row.toolset}: what is pinned at {place} "
                    f"{PIN_ADVICE}."
                )
                again = "" if row.from_manifest else "   Then pin it again"
                yield BoardIssue(str(row.target), told, f"{_command(row, f'arguments.{name}')}{again}")


def _owner(origin: Origin) -> str:
    match origin:
        case DeclaredAt():
            return str(origin)
        case InstalledBy(by, at):
            return f"by {by} on {at:%Y-%m-%d}"
        case _:
            assert_never(origin)


def _command(row: Override, field: str | None) -> str:
    if row.from_manifest:
        return f"Mend the toolset.yaml of {row.toolset} and import it again: pegboard toolset import"
    rest = f" {field}" if field is not None else ""
    return f"pegboard overrides clear {shlex.quote(str(row.target))}{rest} --toolset {row.toolset}"
