"""Tickets in the database: asked for, decided and used, each step once, whoever else is at it.

A step is one statement that names the state it comes from, so of two that race one finds nothing to do.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Select, delete, func, insert, or_, select, update

from pegboard.core.ids import CallId, PrincipalId, ProviderKey, ToolId, WireName
from pegboard.core.shaping import FilledIn
from pegboard.core.ticket import (
    REVOKED,
    WITHDRAWN,
    Begun,
    Ruling,
    Scope,
    State,
    Ticket,
    TooLarge,
    TooMany,
    Wanted,
    standing,
)
from pegboard.core.tool import Fingerprint, Json
from pegboard.core.whose import whose_of
from pegboard.ports import TicketsAway

from .async_engine import AsyncConnection
from .calls import microseconds, moment
from .database import Database
from .errors import StoreError
from .raw_rows import UNREADABLE, check_types, selected_rows
from .runs import later
from .schema import run_tickets, runs
from .schema import tickets as table
from .secrets import KeyFor, NoKeyError
from .targets import kind_and_text, tool_of
from .text import Row, key, whole

MOST: Final = 1_000
"""Tickets that may wait at once, and how many of them may be of one principal."""
MOST_OF_ONE: Final = 20
LARGEST: Final = 1_048_576
"""Bytes of arguments that are kept with a ticket. Nobody could read larger ones whole, so they get no ticket."""
KEPT: Final = timedelta(days=30)
_SAME: Final = 20
"""Tickets of one and the same call that are looked at, the latest first."""


class StoredTickets:
    def __init__(self, database: Database, key: KeyFor, *, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._database = database
        self._key = key
        self._most = most
        self._most_of_one = most_of_one

    async def claim(self, wanted: Wanted, now: datetime, deadline: datetime) -> Begun | Ticket | TooMany | TooLarge:
        try:
            sealed = self._sealed(wanted)
            if isinstance(sealed, TooLarge):
                return sealed
            async with self._database.writing() as connection:
                await self._database.alone(connection)
                await _tidy(connection, now)
                own = table.c.run_id.is_not_distinct_from(wanted.run)
                stands = table.c.digest == wanted.digest, or_(own, table.c.state == State.DENIED.value)
                same = select(table).where(*stands).order_by(table.c.asked_at.desc())
                found = standing(await _tickets(connection, same.limit(_SAME)), now, wanted.run)
                if found is not None and found.state is not State.GRANTED:
                    return found
                if found is not None and await _begun(connection, found, wanted.call, now):
                    return Begun(found, wanted.arguments)
                if (full := await self._full(connection, wanted.principal, now)) is not None:
                    return full
                row = _row(wanted, now, deadline, sealed)
                await connection.execute(insert(table), row)
                return await _of(connection, wanted.id)
        except StoreError as error:
            raise TicketsAway(str(error)) from error

    async def begin(self, ticket: Ticket, call: CallId, now: datetime) -> Begun | None:
        """`None` when it was used meanwhile, or its arguments cannot be read here: then it is left as it is."""
        try:
            async with self._database.writing() as connection:
                sealed = select(table.c.sealed).where(table.c.id == ticket.id)
                arguments = self._opened((await connection.execute(sealed)).scalar(), ticket.id)
                if arguments is None or not await _begun(connection, ticket, call, now):
                    return None
                return Begun(ticket, arguments)
        except StoreError as error:
            raise TicketsAway(str(error)) from error

    async def end(self, id: str, ended: str, call: CallId) -> None:
        done = update(table).where(table.c.id == id, table.c.state == State.BEGUN.value, table.c.call_id == call)
        try:
            async with self._database.writing() as connection:
                await connection.execute(done.values(state=State.ENDED.value, ended=ended))
        except StoreError as error:
            raise TicketsAway(str(error)) from error

    async def decide(self, id: str, ruling: Ruling) -> bool:
        """Whether it was waiting, and so is decided now by this."""
        open_one = update(table).where(table.c.id == id, *_waiting(ruling.at))
        values: dict[str, object] = {
            "state": ruling.state.value,
            "decided_by": ruling.by,
            "decided_at": microseconds(ruling.at),
            "deadline": microseconds(ruling.deadline),
            "scope": None if ruling.scope is None else ruling.scope.value,
            "note": ruling.note,
        }
        if ruling.state is State.DENIED:
            values["sealed"] = None
        until = later(microseconds(ruling.deadline))
        waits = runs.c.id.in_(select(run_tickets.c.run_id).where(run_tickets.c.ticket == id))
        try:
            async with self._database.writing() as connection:
                if (await connection.execute(open_one.values(values))).rowcount != 1:
                    return False
                # The program that waits for it goes on with this decision for as long as it stands.
                await connection.execute(update(runs).where(waits, runs.c.until < until).values(until=until))
                return True
        except StoreError as error:
            raise TicketsAway(str(error)) from error

    async def withdraw(self, ids: Sequence[str], now: datetime) -> None:
        unused = table.c.state.in_((State.WAITING.value, State.GRANTED.value))
        own = update(table).where(table.c.id.in_(ids), unused, table.c.deadline >= microseconds(now))
        try:
            async with self._database.writing() as connection:
                await connection.execute(own.values(deadline=microseconds(now) - 1, sealed=None, ended=WITHDRAWN))
        except StoreError as error:
            raise TicketsAway(str(error)) from error

    async def find(self, id: str) -> Ticket | None:
        try:
            async with self._database.reading() as connection:
                found = await _tickets(connection, select(table).where(table.c.id == id))
        except StoreError as error:
            raise TicketsAway(str(error)) from error
        return found[0] if found else None

    async def arguments(self, id: str) -> Mapping[str, Json] | None:
        try:
            async with self._database.reading() as connection:
                sealed = (await connection.execute(select(table.c.sealed).where(table.c.id == id))).scalar()
        except StoreError as error:
            raise TicketsAway(str(error)) from error
        return self._opened(sealed, id)

    async def listed(self, *, waiting_at: datetime | None = None, limit: int = 100) -> Sequence[Ticket]:
        """Latest first; with a time, only those that wait for a decision then, the earliest deadline first."""
        chosen = select(table).limit(limit)
        if waiting_at is None:
            chosen = chosen.order_by(table.c.asked_at.desc(), table.c.id)
        else:
            chosen = chosen.where(*_waiting(waiting_at)).order_by(table.c.deadline, table.c.id)
        try:
            async with self._database.reading() as connection:
                return await _tickets(connection, chosen)
        except StoreError as error:
            raise TicketsAway(str(error)) from error

    async def _full(self, connection: AsyncConnection, principal: PrincipalId, now: datetime) -> TooMany | None:
        count = select(func.count()).select_from(table).where(*_waiting(now))
        own = (await connection.execute(count.where(table.c.principal == key(principal)))).scalar_one()
        if own >= self._most_of_one:
            return TooMany(self._most_of_one, of_one=True)
        return (
            TooMany(self._most, of_one=False) if (await connection.execute(count)).scalar_one() >= self._most else None
        )

    def _sealed(self, wanted: Wanted) -> str | TooLarge | None:
        """Without a key the arguments are not kept, and the caller repeats its call."""
        try:
            text = json.dumps(dict(wanted.arguments)).encode()
            if len(text) > LARGEST:
                return TooLarge(LARGEST)
            from .sealing import sealed

            return sealed(text, _name(wanted.id), self._key(True))
        except (NoKeyError, ValueError, RecursionError):
            return None

    def _opened(self, text: str | None, id: str) -> Mapping[str, Json] | None:
        if text is None:
            return None
        from .sealing import opened

        try:
            arguments = json.loads(opened(text, _name(id), self._key(False)))
        except (NoKeyError, ValueError, RecursionError):
            return None
        return arguments if isinstance(arguments, dict) else None


async def void_standing_yeses(
    connection: AsyncConnection, places: Iterable[tuple[ToolId, PrincipalId]], now: datetime
) -> None:
    """Ends every unused yes that was given along with a standing permission for these tools and principals.

    By a mark and not by the deadline alone, because the clocks of gateways differ.
    """
    given = table.c.state == State.GRANTED.value, table.c.scope.in_((Scope.CLIENT.value, Scope.ALWAYS.value))
    for tool, principal in places:
        kind, text = kind_and_text(tool)
        own = table.c.kind == kind, table.c.tool_id == text, table.c.principal == key(principal)
        await _void(connection, (*given, *own), now)


async def void_tickets_of(connection: AsyncConnection, principals: Iterable[PrincipalId], now: datetime) -> None:
    """Ends every ticket of these principals that waits or is allowed: another principal may get the name."""
    unused = table.c.state.in_((State.WAITING.value, State.GRANTED.value))
    for principal in principals:
        await _void(connection, (unused, table.c.principal == key(principal)), now)


async def void_tickets_at(connection: AsyncConnection, sources: Iterable[ProviderKey], now: datetime) -> None:
    """Ends every ticket of these servers and toolsets that waits or is allowed: others may get their names."""
    unused = table.c.state.in_((State.WAITING.value, State.GRANTED.value))
    for source in sources:
        kind, prefix = kind_and_text(ToolId(source, ""))
        own = table.c.kind == kind, table.c.tool_id.startswith(prefix, autoescape=True)
        await _void(connection, (unused, *own), now)


async def _void(connection: AsyncConnection, chosen: tuple[Any, ...], now: datetime) -> None:
    ended = update(table).where(*chosen, table.c.ended == "")
    await connection.execute(ended.values(deadline=microseconds(now) - 1, sealed=None, ended=REVOKED))


async def _begun(connection: AsyncConnection, ticket: Ticket, call: CallId, now: datetime) -> bool:
    use = update(table).where(
        table.c.id == ticket.id,
        table.c.state == State.GRANTED.value,
        table.c.ended == "",
        table.c.deadline >= microseconds(now),
    )
    values = {"state": State.BEGUN.value, "begun_at": microseconds(now), "call_id": call, "sealed": None}
    return (await connection.execute(use.values(values))).rowcount == 1


async def _tidy(connection: AsyncConnection, now: datetime) -> None:
    """Arguments of what nobody can use any more, and tickets that nobody asks for any more."""
    lapsed = update(table).where(table.c.deadline < microseconds(now), table.c.sealed.is_not(None))
    await connection.execute(lapsed.values(sealed=None))
    await connection.execute(delete(table).where(table.c.asked_at < microseconds(now - KEPT)))


async def _of(connection: AsyncConnection, id: str) -> Ticket:
    return ticket_of(dict((await connection.execute(select(table).where(table.c.id == id))).mappings().one()))


async def _tickets(connection: AsyncConnection, chosen: Select[Any]) -> list[Ticket]:
    """Those that can be read. The others allow nothing; `pegboard store check` names them."""
    found: list[Ticket] = []
    for row in await selected_rows(connection, table, chosen):
        with suppress(*UNREADABLE):
            check_types(table, row)
            found.append(ticket_of(row))
    return found


def _waiting(now: datetime) -> tuple[Any, ...]:
    return table.c.state == State.WAITING.value, table.c.ended == "", table.c.deadline >= microseconds(now)


def _row(wanted: Wanted, now: datetime, deadline: datetime, sealed: str | None) -> dict[str, object]:
    kind, tool = kind_and_text(wanted.tool)
    return {
        "id": wanted.id,
        "asked_at": microseconds(now),
        "deadline": microseconds(deadline),
        "principal": key(wanted.principal),
        "whole_principal": whole(wanted.principal),
        "client": wanted.client,
        "tool_id": tool,
        "kind": kind,
        "name": wanted.name,
        "fingerprint": wanted.fingerprint,
        "digest": wanted.digest,
        "shown": json.dumps(wanted.displayed if sealed is None else wanted.shown, ensure_ascii=False),
        "sealed": sealed,
        "state": State.WAITING.value,
        "note": "",
        "ended": "",
        "whose": None if wanted.whose is None else str(wanted.whose),
        "run_id": wanted.run,
        "filled": _filled_row(wanted.filled),
    }


def ticket_of(row: Row) -> Ticket:
    return Ticket(
        id=row["id"],
        principal=PrincipalId(row["principal"] if row["whole_principal"] is None else row["whole_principal"]),
        client=row["client"],
        tool=tool_of(row["kind"], row["tool_id"]),
        name=WireName(row["name"]),
        fingerprint=Fingerprint(row["fingerprint"]),
        digest=row["digest"],
        shown=json.loads(row["shown"]),
        asked=moment(row["asked_at"]),
        deadline=moment(row["deadline"]),
        state=State(row["state"]),
        by=None if row["decided_by"] is None else PrincipalId(row["decided_by"]),
        decided=None if row["decided_at"] is None else moment(row["decided_at"]),
        scope=None if row["scope"] is None else Scope(row["scope"]),
        note=row["note"],
        begun=None if row["begun_at"] is None else moment(row["begun_at"]),
        call=None if row["call_id"] is None else CallId(row["call_id"]),
        ended=row["ended"],
        whose=whose_of(row["whose"]),
        run=None if row["run_id"] is None else CallId(row["run_id"]),
        filled=_filled(row["filled"]),
    )


def _filled_row(filled: FilledIn | None) -> str | None:
    if filled is None:
        return None
    members = {"tag": filled.tag, "defaults": dict(filled.defaults), "pinned": [*filled.pinned]}
    return json.dumps(members, ensure_ascii=False)


def _filled(text: str | None) -> FilledIn | None:
    if text is None:
        return None
    members = json.loads(text)
    return FilledIn(members["tag"], members["defaults"], tuple(members["pinned"]))


def _name(id: str) -> str:
    return f"ticket {id}"
