"""What is closed in a SQLite file because it tells of what is closed: columns that are computed from closed ones, and
virtual tables over them, such as a full-text index and its vocabulary. The authorizer does not hear of either.
"""

from pegboard.core.database import Access
from pegboard.providers.builtin.database.derived import derived, words

from .authorizer import MAIN
from .reading import Whole
from .tokens import tokens


def closing(whole: Whole, access: Access) -> Access:
    access = access.closing(
        *(
            (MAIN, table.name.table, column)
            for table in whole.schema.tables
            if not table.is_view and access.opens(*table.name)
            for column in derived(table, whole.forms[table.name.table].statement, access)
        )
    )
    return access.closing(*((MAIN, name) for name in _virtual(whole, access)))


def _virtual(whole: Whole, access: Access) -> frozenset[str]:
    """The virtual tables that are made over something closed, over a view that may read it, or over one another. One
    over the open columns of a table alone stays open."""
    closed, partly = set[str](), dict[str, set[str]]()
    for table in whole.schema.tables:
        name = table.name.table
        if not access.opens(MAIN, name):
            closed.add(name.casefold())
            continue
        hidden = {each.name.casefold() for each in table.columns if not access.opens_column(MAIN, name, each.name)}
        if hidden:
            partly[name.casefold()] = hidden
    said = {
        name.casefold(): frozenset(words(tokens(form.statement))) - {name.casefold()}
        for name, form in whole.forms.items()
        if form.kind in ("view", "virtual")
    }
    views = {name.casefold() for name, form in whole.forms.items() if form.kind == "view"}
    virtual = said.keys() - views - closed
    found = set[str]()
    while more := {name for name in virtual - found if _tells(said[name], said, views, closed | found, partly)}:
        found |= more
    return frozenset(found)


def _tells(
    names: frozenset[str],
    said: dict[str, frozenset[str]],
    views: set[str],
    closed: set[str],
    partly: dict[str, set[str]],
) -> bool:
    if names & closed or any(names & partly[table] for table in names & partly.keys()):
        return True
    seen, waiting = set[str](), names & views
    while waiting:
        seen |= waiting
        within = frozenset[str]().union(*(said[view] for view in waiting))
        if within & (closed | partly.keys()):
            return True
        waiting = (within & views) - seen
    return False
