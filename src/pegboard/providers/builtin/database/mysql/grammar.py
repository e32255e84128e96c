"""A statement as the parser for many dialects reads it, where a MySQL or MariaDB server reads the same.

The parser knows clauses of other databases, and takes for one of them what is a table's name to these servers:
`FROM orders, qualify q` names two tables. Whatever it finds that these servers do not have is refused. Its own words
are about itself, so nobody is told them.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

from pegboard.providers.builtin.database.names import names

from .words import Unreadable, Word

# It warns of what it does not know; here that is refused, and told to whoever asked.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

_MYSQL: Final = MySQL()
_OF_QUERIES: Final = names(
    """
    with with_ kind expressions hint distinct into limit operation_modifiers from from_ joins where group having windows
    order offset locks
    """
)
"""Parts of a SELECT that these servers have. INTO and locks are refused elsewhere, in better words."""
_OF_TABLES: Final = names("this db catalog alias joins hints partition version when")
_LOST: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What the parser itself falls over, on texts that are no statements."""


@dataclass(frozen=True)
class Broken:
    words: str
    position: int | None


def parsed(text: str, given: tuple[Word, ...]) -> exp.Expression | Unreadable | Broken:
    """`given` are the words of the text, which may begin before it: positions are told as those have them."""
    try:
        trees = [tree for tree in _MYSQL.parse(text) if tree is not None]
    except RecursionError:
        return Unreadable("The statement is nested too deeply to be read.", "Ask in simpler statements.")
    except SqlglotError as error:
        details = getattr(error, "errors", None) or [{}]
        return _unreadable(given) or _broken(details[0], text, given)
    except _LOST:
        return _unreadable(given) or Broken("The statement cannot be read. Check its brackets and commas.", None)
    if len(trees) != 1:
        return Unreadable("The text holds more than one statement.", "Send one statement at a time.")
    return cast(exp.Expression, trees[0])


_FORMS: Final = (
    (("LIMIT", "ROWS", "EXAMINED"), "LIMIT ROWS EXAMINED", "Leave it out: each statement has a time limit anyway."),
    (("UPDATE", "IGNORE"), "UPDATE IGNORE", "Leave IGNORE out."),
    (("DELETE", "IGNORE"), "DELETE IGNORE", "Leave IGNORE out."),
    (("UPDATE", "LOW_PRIORITY"), "UPDATE LOW_PRIORITY", "Leave LOW_PRIORITY out."),
    (("DELETE", "QUICK"), "DELETE QUICK", "Leave QUICK out."),
    (("ON", "EMPTY"), "DEFAULT … ON EMPTY", "Leave it out, and use IFNULL or COALESCE on the column."),
    (("ON", "ERROR"), "DEFAULT … ON ERROR", "Leave it out, and use IFNULL or COALESCE on the column."),
)
_ESCAPED: Final = {"D": "DATE", "T": "TIME", "TS": "TIMESTAMP"}


def _unreadable(given: tuple[Word, ...]) -> Unreadable | None:
    """What these servers have and the parser has not: how to do without."""
    said = [word.upper for word in given]
    for phrase, told, mend in _FORMS:
        if any(tuple(said[place : place + len(phrase)]) == phrase for place in range(len(said))):
            return Unreadable(f"{told} is not read here.", mend)
    for brace, following, value in zip(given, given[1:], given[2:], strict=False):
        if brace.text == "{" and brace.kind == "mark":
            kind = _ESCAPED.get(following.upper) if value.kind == "string" else None
            return Unreadable(
                "Braces ({d '…'}, {fn …}, {oj …}) are not read here.",
                f"Write {kind} {value.text} instead." if kind else "Write what is in them without them.",
            )
    if said[0] == "VALUES":
        return Unreadable("VALUES by itself is not read here.", "Write SELECT 1 UNION ALL SELECT 2.")
    return None


def _broken(detail: dict[str, object], text: str, given: tuple[Word, ...]) -> Broken:
    near, line, column = str(detail.get("highlight") or ""), detail.get("line"), detail.get("col")
    if not near or not isinstance(line, int) or not isinstance(column, int):
        return Broken("The statement cannot be read. Check that its quotes and brackets are closed.", None)
    before = text.split("\n")[: line - 1]
    place = sum(len(each) + 1 for each in before) + column - len(near)
    found = text[place : place + len(near)] == near if place >= 0 else False
    place += given[0].start
    wrong = f"{near!r} is not expected there"
    if found and place + len(near) == given[-1].end:
        wrong = f"something is missing at its end, or {wrong}"
    return Broken(f"The statement cannot be read: {wrong}.", place if found else None)


def elsewhere(nodes: Iterable[exp.Expression]) -> Unreadable | None:
    """A clause that only other databases have; here its words are names."""
    for node in nodes:
        match node:
            case exp.Select():
                unknown = _parts(node) - _OF_QUERIES
            case exp.Table():
                unknown = _parts(node) - _OF_TABLES
                if not isinstance(node.args.get("db"), exp.Identifier | None):
                    unknown.add("db")
            case exp.Lateral():
                unknown = set() if isinstance(node.this, exp.Subquery | exp.JSONTable) else {"lateral"}
            case exp.TableSample() | exp.Qualify() | exp.Pivot() | exp.MatchRecognize() | exp.Unnest():
                unknown = {node.key}
            case _:
                continue
        if unknown:
            return Unreadable(
                "The statement has a clause, or a table with a name like one, that is not read here.",
                "Put names in backquotes, and leave out clauses of other databases.",
            )
    return None


def _parts(node: exp.Expression) -> set[str]:
    return {part for part, value in node.args.items() if value}
