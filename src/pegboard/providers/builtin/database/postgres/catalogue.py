"""What the server's catalogue says of the names in a statement, asked in the transaction that runs it.

Names are resolved by the search path of the session, which is pinned. What was answered before is asked again as soon
as anything was written on the server, because a view or a function may be replaced at any time.
"""

import json
from collections.abc import Iterable
from typing import Any

from .connecting import Metered
from .found import Beneath, Found, Function, Made, Operator, Relation, Type
from .memory import Wanted
from .question import LISTS, question
from .reading import Reading


async def ask(connection: Metered, readings: Iterable[Reading]) -> Found:
    """What the catalogue knows of everything that these statements name."""
    return await ask_for(connection, Wanted.of(readings))


async def ask_for(connection: Metered, wanted: Wanted) -> Found:
    memory = connection.memory
    rest = memory.lacks(wanted)
    if rest is not None:
        told = await _told(connection, rest)
        if told["stamp"] != memory.stamp and rest != wanted:
            rest, told = wanted, await _told(connection, wanted)
        memory.learn(told["stamp"], rest, found(told))
    known: Found = memory.found(wanted)
    return known


async def _told(connection: Metered, wanted: Wanted) -> dict[str, Any]:
    """Whether a table is more than its own columns may change at any time; that it was, saves asking twice."""
    was_deep = connection.memory.deep
    if was_deep.isdisjoint(wanted.relations):
        told = await _answered(connection, wanted, deep=False)
        deep = {(one["schema"], one["name"]) for one in told["relations"] or () if one["deep"]}
        if not deep:
            return told
        was_deep |= deep
    return await _answered(connection, wanted, deep=True)


async def _answered(connection: Metered, wanted: Wanted, *, deep: bool) -> dict[str, Any]:
    named = sorted(wanted.relations, key=str)
    lists = {name: names for name in LISTS if (names := sorted(getattr(wanted, name)))}
    answer = await connection.fetchval(
        question(tuple(lists), deep=deep), [schema for schema, _ in named], [name for _, name in named], *lists.values()
    )
    told: dict[str, Any] = dict.fromkeys(LISTS) | json.loads(answer)
    return told


def found(told: dict[str, Any]) -> Found:
    """The answer to `question` as values."""
    return Found(
        tuple(told["path"] or ()),
        told["database"],
        {(one["schema"], one["name"]): _relation(one) for one in told["relations"] or ()},
        tuple(map(_function, told["functions"] or ())),
        tuple(map(_function, told["fields"] or ())),
        tuple(Operator(one["oprschema"], one["oprname"], _function(one)) for one in told["operators"] or ()),
        tuple(map(_type, told["types"] or ())),
        told["hides"],
    )


def _relation(told: dict[str, Any]) -> Relation:
    beneath = tuple(
        Beneath(one["nspname"], one["relname"], one["relkind"], tuple(one["columns"]), one["definition"])
        for one in told["beneath"] or ()
    )
    columns = tuple(told["columns"])
    return Relation(
        told["oid"],
        told["nspname"],
        told["relname"],
        told["relkind"],
        columns,
        told["definition"],
        beneath,
        tuple((column, of) for column, of in told["generated"] or ()),
        tuple(Made(*each) for each in told["made"] or ()),
        tuple(told["sliced"] or ()),
    )


def _function(told: dict[str, Any]) -> Function:
    return Function(
        told["nspname"],
        told["proname"],
        told["provolatile"],
        told["least"],
        told["most"],
        told["extname"],
        told["prosecdef"],
        told["added"],
        told["catalogued"],
        told["inward"],
    )


def _type(told: dict[str, Any]) -> Type:
    row = told["row_of"]
    return Type(
        told["nspname"],
        told["typname"],
        told["typtype"],
        told["extname"],
        (row[0], row[1]) if row else None,
        told["oid"],
    )
