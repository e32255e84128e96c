"""Why a tool is absent from a view, and what brings it there: for operators, because an agent is not told of it."""

from collections.abc import Collection, Iterable
from typing import Final, assert_never

from .docspace.toolsets import TOOLSETS as OF_DOCSPACE
from .ids import ToolId, ToolsetId, ToolsetKey
from .passage import (
    HiddenByGrants,
    HiddenByLaunchFilter,
    HiddenByNarrowerView,
    HiddenBySelection,
    HiddenReason,
    HiddenWithoutDatabase,
)
from .policy import GrantSource, PrincipalGrants
from .said import shell_word
from .selection import AllToolsets, Selection, entry_means_tool
from .server import DeclaredAt

_SETTINGS_FILE: Final = "pegboard.yaml"
_MAX_NAMED: Final = 5


def explain_hidden(removed: HiddenReason) -> str:
    match removed:
        case HiddenBySelection():
            return "The board's selection leaves it out."
        case HiddenByGrants(PrincipalGrants(principal, toolsets, by), toolset):
            if by is GrantSource.NOBODY:
                return f"Nobody is called {principal!r} here, and that name is granted nothing."
            if by is GrantSource.UNREADABLE:
                return f"What {principal} may use cannot be read from the store, so it may use nothing."
            return f"{principal} may not use toolset {toolset}: it is granted {_names_text(toolsets, 'toolsets')}."
        case HiddenWithoutDatabase(principal, asked):
            return (
                f"{principal} may ask none of the databases that are on: it may ask {_names_text(asked, 'databases')}."
            )
        case HiddenByNarrowerView(by):
            return f"The request's own narrowing leaves it out: {describe_selection(by)}."
        case HiddenByLaunchFilter(why):
            return f"It is filtered away: {why}."
        case _:
            assert_never(removed)


def explain_hidden_clause(removed: HiddenReason) -> str:
    text = explain_hidden(removed).rstrip(".")
    return text[:1].lower() + text[1:] if text.startswith(("The ", "It ", "Nobody ", "What ")) else text


def hidden_remedy(removed: HiddenReason, tool: ToolId) -> str:
    """An operator's decision is told with its place and what it says now, so that the edit can be made without looking
    it up; what people decided with the command that decides it anew."""
    match removed:
        case HiddenBySelection(_, at) | HiddenWithoutDatabase(at=at):
            return f"This is operator policy: in {file_place(at)}, {suggest_edit(removed, tool)}."
        case HiddenByGrants(PrincipalGrants(by=GrantSource.FILE, at=at)):
            return f"This is operator policy: in {file_place(at)}, {suggest_edit(removed, tool)}."
        case HiddenByGrants(PrincipalGrants(principal, by=GrantSource.NOBODY)):
            return f"Make the name a token: pegboard tokens make{_principal_text(principal)} --scope call"
        case HiddenByGrants(PrincipalGrants(principal, by=GrantSource.UNREADABLE)):
            return (
                "Look at the row: pegboard store check   Or grant anew: pegboard grants "
                f"set{_principal_text(principal)} TOOLSET"
            )
        case HiddenByGrants(limit, toolset):
            told = f"Grant toolset {toolset} to {limit.principal}, under People in Settings or by"
            return (
                f"{told}: pegboard grants set{_principal_text(limit.principal)} {' '.join(grants_with(limit, toolset))}"
            )
        case HiddenByNarrowerView():
            return "Ask without narrowing the request so."
        case HiddenByLaunchFilter(why):
            key = f"{'allow' if why.by is None else 'deny'}_{why.kind}"
            return f"Change {key} of the filter: in pegboard.yaml under prompts, or by its flag."
        case _:
            assert_never(removed)


def grants_with(limit: PrincipalGrants, toolset: ToolsetId) -> tuple[ToolsetId, ...]:
    """What the principal may use now, and this toolset."""
    return tuple(sorted({*limit.toolsets, toolset}))


def suggest_edit(removed: HiddenBySelection | HiddenByGrants | HiddenWithoutDatabase, tool: ToolId) -> str:
    """What to write in the file, as a clause."""
    match removed:
        case HiddenBySelection(by):
            return " and ".join(_selection_edits(by, tool))
        case HiddenByGrants(limit, toolset):
            return f"add {toolset} to what {limit.principal} may use (now {_names_text(limit.toolsets, 'toolsets')})"
        case HiddenWithoutDatabase(principal, asked, _, on):
            now = f"under databases of {principal} (now {_names_text(asked, 'databases')})"
            if on:
                return f"name {' or '.join(on)} {now}"
            return f"enable a database, and name it {now}"
        case _:
            assert_never(removed)


def file_place(at: DeclaredAt | None) -> str:
    return _SETTINGS_FILE if at is None else str(at)


def _selection_edits(selection: Selection, tool: ToolId) -> Iterable[str]:
    """Every edit that it takes: a toolset that is not chosen, and entries that take the tool away again."""
    now = f"(now {describe_selection(selection)})"
    taken = [text for text in selection.disabled if entry_means_tool(text, tool)]
    added = [text for text in selection.enabled if entry_means_tool(text, tool)]
    chosen = selection.toolsets
    whole = isinstance(chosen, AllToolsets) or tool.toolset in (name.strip().lower() for name in chosen.names)
    if not whole and not added:
        yield f"add {tool.toolset} to toolsets under selection {now}"
    of_docspace = isinstance(tool.source, ToolsetKey) and tool.toolset in OF_DOCSPACE
    if of_docspace and str(tool) in taken:
        # What is left out where DocSpace is set up is left out of the board by this same list.
        yield f"choose {tool} where DocSpace is set up, and take it out of disabled_tools under selection too"
        taken.remove(str(tool))
    if taken:
        yield f"take {', '.join(map(repr, taken))} out of disabled_tools under selection {now}"


def _principal_text(principal: str) -> str:
    word = shell_word(principal) or "PRINCIPAL"
    return f" -- {word}" if word.startswith("-") else f" {word}"


def _names_text(names: Collection[str], what: str) -> str:
    """Of many only how many they are: who wants to know which looks under People, or into the file."""
    if len(names) > _MAX_NAMED:
        return f"{len(names)} other {what}"
    return ", ".join(sorted(names)) or "nothing"


def describe_selection(selection: Selection) -> str:
    toolsets = "all" if isinstance(selection.toolsets, AllToolsets) else ", ".join(selection.toolsets.names) or "none"
    parts = [f"toolsets {toolsets}"]
    if selection.enabled:
        parts.append(f"plus {', '.join(selection.enabled)}")
    if selection.disabled:
        parts.append(f"minus {', '.join(selection.disabled)}")
    return ", ".join(parts)
