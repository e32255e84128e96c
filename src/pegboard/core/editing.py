"""One person's edit of one override: some fields said, some cleared, and whose word each of them now is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from .argument import changed
from .override import Override
from .server import InstalledBy

ARGUMENT: Final = "arguments."


@dataclass(frozen=True)
class Edit:
    """`said` names the place and holds only what is new; `cleared` are fields, or `arguments.NAME` for a parameter."""

    said: Override
    cleared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NothingThere:
    """What was to be cleared was not said."""

    what: tuple[str, ...]


def edited(known: Override | None, edit: Edit, by: InstalledBy) -> Override | NothingThere:
    """The row as it is from now on; it may say nothing any more."""
    row = known or Override(edit.said.toolset, edit.said.target)
    if vain := tuple(sorted(name for name in edit.cleared if not _is_said(row, name))):
        return NothingThere(vain)
    row = without(row, edit.cleared)
    said = edit.said
    arguments = row.arguments if said.arguments is None else changed(row.arguments or {}, said.arguments)
    fields = {name: getattr(said, name) for name in said.says if name != "arguments"}
    origins = {**row.origins, **dict.fromkeys(_places(said), by)}
    return replace(row, **fields, arguments=arguments, origins=origins)


def without(row: Override, cleared: frozenset[str]) -> Override:
    """The row with these fields unsaid, and nobody's word any more."""
    parameters = {name.removeprefix(ARGUMENT) for name in cleared if name.startswith(ARGUMENT)}
    arguments = {name: said for name, said in (row.arguments or {}).items() if name not in parameters}
    whole = "arguments" in cleared
    kept = {name: getattr(row, name) for name in row.says if name not in cleared and name != "arguments"}
    return Override(
        row.toolset,
        row.target,
        **kept,
        arguments=None if whole else arguments or None,
        declared=row.declared,
        origins={
            name: by
            for name, by in row.origins.items()
            if name not in cleared and not (whole and name.startswith(ARGUMENT))
        },
    )


def _is_said(row: Override, name: str) -> bool:
    if name.startswith(ARGUMENT):
        return name.removeprefix(ARGUMENT) in (row.arguments or {})
    return name in row.says


def _places(said: Override) -> Iterator[str]:
    yield from (name for name in said.says if name != "arguments")
    yield from (f"{ARGUMENT}{name}" for name in said.arguments or {})
