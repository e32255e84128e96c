"""One person's edit of one override: some fields said, some cleared, and whose word each of them now is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from .argument import merge_arguments
from .override import Override
from .server import InstalledBy

ARGUMENT_PREFIX: Final = "arguments."


@dataclass(frozen=True)
class OverrideEdit:
    """`said` names the place and holds only what is new; `cleared` are fields, or `arguments.NAME` for a parameter."""

    changes: Override
    cleared_fields: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NothingToClear:
    """What was to be cleared was not said."""

    fields: tuple[str, ...]


def apply_edit(known: Override | None, edit: OverrideEdit, by: InstalledBy) -> Override | NothingToClear:
    """The row as it is from now on; it may say nothing any more."""
    row = known or Override(edit.changes.toolset, edit.changes.target)
    if vain := tuple(sorted(name for name in edit.cleared_fields if not _is_set(row, name))):
        return NothingToClear(vain)
    row = without_fields(row, edit.cleared_fields)
    said = edit.changes
    arguments = row.arguments if said.arguments is None else merge_arguments(row.arguments or {}, said.arguments)
    fields = {name: getattr(said, name) for name in said.fields_set if name != "arguments"}
    origins = {**row.origins, **dict.fromkeys(_set_places(said), by)}
    return replace(row, **fields, arguments=arguments, origins=origins)


def without_fields(row: Override, cleared: frozenset[str]) -> Override:
    """The row with these fields unsaid, and nobody's word any more."""
    parameters = {name.removeprefix(ARGUMENT_PREFIX) for name in cleared if name.startswith(ARGUMENT_PREFIX)}
    arguments = {name: said for name, said in (row.arguments or {}).items() if name not in parameters}
    whole = "arguments" in cleared
    kept = {name: getattr(row, name) for name in row.fields_set if name not in cleared and name != "arguments"}
    return Override(
        row.toolset,
        row.target,
        **kept,
        arguments=None if whole else arguments or None,
        is_declared=row.is_declared,
        origins={
            name: by
            for name, by in row.origins.items()
            if name not in cleared and not (whole and name.startswith(ARGUMENT_PREFIX))
        },
    )


def _is_set(row: Override, name: str) -> bool:
    if name.startswith(ARGUMENT_PREFIX):
        return name.removeprefix(ARGUMENT_PREFIX) in (row.arguments or {})
    return name in row.fields_set


def _set_places(said: Override) -> Iterator[str]:
    yield from (name for name in said.fields_set if name != "arguments")
    yield from (f"{ARGUMENT_PREFIX}{name}" for name in said.arguments or {})
