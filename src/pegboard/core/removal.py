"""Why a tool is absent from a view, and what brings it there: for operators, because an agent is not told of it."""

from collections.abc import Collection, Iterable
from typing import Final, assert_never

from .docspace.toolsets import TOOLSETS as OF_DOCSPACE
from .ids import ToolId, ToolsetId, ToolsetKey
from .passage import FilteredAway, NarrowedAway, NoDatabase, NotGranted, NotSelected, Removal
from .policy import Limit, Sayer
from .said import shell_word
from .selection import Everything, Selection, means_tool
from .server import DeclaredAt

_FILE: Final = "pegboard.yaml"
_NAMED: Final = 5


def removal_sentence(removed: Removal) -> str:
    match removed:
        case NotSelected():
            return "The board's selection leaves it out."
        case NotGranted(Limit(principal, toolsets, by), toolset):
            if by is Sayer.NOBODY:
                return f"Nobody is called {principal!r} here, and that name is granted nothing."
            if by is Sayer.UNREADABLE:
                return f"What {principal} may use cannot be read from the store, so it may use nothing."
            return f"{principal} may not use toolset {toolset}: it is granted {_listed(toolsets, 'toolsets')}."
        case NoDatabase(principal, asked):
            return f"{principal} may ask none of the databases that are on: it may ask {_listed(asked, 'databases')}."
        case NarrowedAway(by):
            return f"The request's own narrowing leaves it out: {selection_text(by)}."
        case FilteredAway(why):
            return f"It is filtered away: {why}."
        case _:
            assert_never(removed)


def removal_clause(removed: Removal) -> str:
    text = removal_sentence(removed).rstrip(".")
    return text[:1].lower() + text[1:] if text.startswith(("The ", "It ", "Nobody ", "What ")) else text


def removal_remedy(removed: Removal, tool: ToolId) -> str:
    """An operator's decision is told with its place and what it says now, so that the edit can be made without looking
    it up; what people decided with the command that decides it anew."""
    match removed:
        case NotSelected(_, at) | NoDatabase(at=at):
            return f"This is operator policy: in {place_of(at)}, {edit_of(removed, tool)}."
        case NotGranted(Limit(by=Sayer.FILE, at=at)):
            return f"This is operator policy: in {place_of(at)}, {edit_of(removed, tool)}."
        case NotGranted(Limit(principal, by=Sayer.NOBODY)):
            return f"Make the name a token: pegboard tokens make{_word(principal)} --scope call"
        case NotGranted(Limit(principal, by=Sayer.UNREADABLE)):
            return (
                f"Look at the row: pegboard store check   Or grant anew: pegboard grants set{_word(principal)} TOOLSET"
            )
        case NotGranted(limit, toolset):
            told = f"Grant toolset {toolset} to {limit.principal}, under People in Settings or by"
            return f"{told}: pegboard grants set{_word(limit.principal)} {' '.join(granted_then(limit, toolset))}"
        case NarrowedAway():
            return "Ask without narrowing the request so."
        case FilteredAway(why):
            key = f"{'allow' if why.by is None else 'deny'}_{why.kind}"
            return f"Change {key} of the filter: in pegboard.yaml under prompts, or by its flag."
        case _:
            assert_never(removed)


def granted_then(limit: Limit, toolset: ToolsetId) -> tuple[ToolsetId, ...]:
    """What the principal may use now, and this toolset."""
    return tuple(sorted({*limit.toolsets, toolset}))


def edit_of(removed: NotSelected | NotGranted | NoDatabase, tool: ToolId) -> str:
    """What to write in the file, as a clause."""
    match removed:
        case NotSelected(by):
            return " and ".join(_selecting(by, tool))
        case NotGranted(limit, toolset):
            return f"add {toolset} to what {limit.principal} may use (now {_listed(limit.toolsets, 'toolsets')})"
        case NoDatabase(principal, asked, _, on):
            now = f"under databases of {principal} (now {_listed(asked, 'databases')})"
            if on:
                return f"name {' or '.join(on)} {now}"
            return f"enable a database, and name it {now}"
        case _:
            assert_never(removed)


def place_of(at: DeclaredAt | None) -> str:
    return _FILE if at is None else str(at)


def _selecting(selection: Selection, tool: ToolId) -> Iterable[str]:
    """Every edit that it takes: a toolset that is not chosen, and entries that take the tool away again."""
    now = f"(now {selection_text(selection)})"
    taken = [text for text in selection.disabled if means_tool(text, tool)]
    added = [text for text in selection.enabled if means_tool(text, tool)]
    chosen = selection.toolsets
    whole = isinstance(chosen, Everything) or tool.toolset in (name.strip().lower() for name in chosen.names)
    if not whole and not added:
        yield f"add {tool.toolset} to toolsets under selection {now}"
    of_docspace = isinstance(tool.source, ToolsetKey) and tool.toolset in OF_DOCSPACE
    if of_docspace and str(tool) in taken:
        # What is left out where DocSpace is set up is left out of the board by this same list.
        yield f"choose {tool} where DocSpace is set up, and take it out of disabled_tools under selection too"
        taken.remove(str(tool))
    if taken:
        yield f"take {', '.join(map(repr, taken))} out of disabled_tools under selection {now}"


def _word(principal: str) -> str:
    word = shell_word(principal) or "PRINCIPAL"
    return f" -- {word}" if word.startswith("-") else f" {word}"


def _listed(names: Collection[str], what: str) -> str:
    """Of many only how many they are: who wants to know which looks under People, or into the file."""
    if len(names) > _NAMED:
        return f"{len(names)} other {what}"
    return ", ".join(sorted(names)) or "nothing"


def selection_text(selection: Selection) -> str:
    toolsets = "all" if isinstance(selection.toolsets, Everything) else ", ".join(selection.toolsets.names) or "none"
    parts = [f"toolsets {toolsets}"]
    if selection.enabled:
        parts.append(f"plus {', '.join(selection.enabled)}")
    if selection.disabled:
        parts.append(f"minus {', '.join(selection.disabled)}")
    return ", ".join(parts)
