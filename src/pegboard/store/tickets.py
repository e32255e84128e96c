"""Tickets and consents in the database: each step is one statement, so it happens once.

A step is one statement that names the state it comes from, so of two that race one finds nothing to do.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Select, Table, delete, func, insert, or_, select, update

from pegboard.core.calls.tickets import (
    REVOKED_NOTE,
    WITHDRAWN_NOTE,
    ArgumentsTooLarge,
    ConsentScope,
    NewTicket,
    Ticket,
    TicketDecision,
    TicketState,
    TicketUse,
    TooManyTickets,
    deciding_ticket,
)
from pegboard.core.json.values import Json
from pegboard.core.model.ids import CallId, PrincipalId, ProviderKey, ToolId, WireName
from pegboard.core.model.tool import Fingerprint
from pegboard.core.overrides.schema import FilledArguments
from pegboard.core.policy.policy import DEFAULT_CONSENT_DAYS, Consent, parse_identity
from pegboard.core.policy.unreadable_rows import RevokesPermission, UnreadableRow
from pegboard.ports.stores import TicketsUnavailable
from pegboard.store import schema
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.call_records import from_microseconds, to_microseconds
from pegboard.store.database import StoreDatabase, StoreError
from pegboard.store.decisions import kind_and_text, tool_of
from pegboard.store.runs import run_expiry
from pegboard.store.schema import consent_uses, consents, run_tickets, runs
from pegboard.store.schema import tickets as table
from pegboard.store.secrets import KeyFor, NoKeyError
from pegboard.store.text import Row, index_key, overflow_text, parse_instant
from pegboard.store.unreadable_rows import (
    UNREADABLE_ERRORS,
    check_types,
    describe_error,
    read_tables,
    selected_rows,
    stored_row,
)

MAX_WAITING: Final = 1_000
"""Tickets that may wait at once, and how many of them may be of one principal."""
MAX_WAITING_OF_PRINCIPAL: Final = 20
MAX_ARGUMENT_BYTES: Final = 1_048_576
"""Bytes of arguments that are kept with a ticket. Nobody could read larger ones whole, so they get no ticket."""
TICKET_RETENTION: Final = timedelta(days=30)
_MAX_SAME_CALL: Final = 20
"""Tickets of one and the same call that are looked at, the latest first."""


class SqlTicketStore:
    def __init__(
        self,
        database: StoreDatabase,
        key: KeyFor,
        *,
        most: int = MAX_WAITING,
        most_of_one: int = MAX_WAITING_OF_PRINCIPAL,
    ) -> None:
        self._database = database
        self._key = key
        self._max_waiting = most
        self._max_waiting_of_principal = most_of_one

    async def claim(
        self, wanted: NewTicket, now: datetime, deadline: datetime
    ) -> TicketUse | Ticket | TooManyTickets | ArgumentsTooLarge:
        try:
            sealed = self._encrypt_arguments(wanted)
            if isinstance(sealed, ArgumentsTooLarge):
                return sealed
            async with self._database.write_transaction() as connection:
                await self._database.lock_for_write(connection)
                await _delete_expired(connection, now)
                own = table.c.run_id.is_not_distinct_from(wanted.run)
                stands = table.c.digest == wanted.digest, or_(own, table.c.state == TicketState.DENIED.value)
                same = select(table).where(*stands).order_by(table.c.asked_at.desc())
                found = deciding_ticket(
                    await _readable_tickets(connection, same.limit(_MAX_SAME_CALL)), now, wanted.run
                )
                if found is not None and found.state is not TicketState.ALLOWED:
                    return found
                if found is not None and await _mark_begun(connection, found, wanted.call, now):
                    return TicketUse(found, wanted.arguments)
                if (full := await self._check_limits(connection, wanted.principal, now)) is not None:
                    return full
                row = _ticket_row(wanted, now, deadline, sealed)
                await connection.execute(insert(table), row)
                return await _fetch(connection, wanted.id)
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error

    async def begin(self, ticket: Ticket, call: CallId, now: datetime) -> TicketUse | None:
        """`None` when it was used meanwhile, or its arguments cannot be read here: then it is left as it is."""
        try:
            async with self._database.write_transaction() as connection:
                sealed = select(table.c.sealed).where(table.c.id == ticket.id)
                arguments = self._decrypt_arguments((await connection.execute(sealed)).scalar(), ticket.id)
                if arguments is None or not await _mark_begun(connection, ticket, call, now):
                    return None
                return TicketUse(ticket, arguments)
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error

    async def end(self, id: str, ended: str, call: CallId) -> None:
        done = update(table).where(
            table.c.id == id, table.c.state == TicketState.RUNNING.value, table.c.call_id == call
        )
        try:
            async with self._database.write_transaction() as connection:
                await connection.execute(done.values(state=TicketState.DONE.value, ended=ended))
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error

    async def decide(self, id: str, ruling: TicketDecision) -> bool:
        """Whether it was waiting, and so is decided now by this."""
        open_one = update(table).where(table.c.id == id, *_waiting_conditions(ruling.at))
        values: dict[str, object] = {
            "state": ruling.state.value,
            "decided_by": ruling.by,
            "decided_at": to_microseconds(ruling.at),
            "deadline": to_microseconds(ruling.deadline),
            "scope": None if ruling.scope is None else ruling.scope.value,
            "note": ruling.note,
        }
        if ruling.state is TicketState.DENIED:
            values["sealed"] = None
        until = run_expiry(to_microseconds(ruling.deadline))
        waits = runs.c.id.in_(select(run_tickets.c.run_id).where(run_tickets.c.ticket == id))
        try:
            async with self._database.write_transaction() as connection:
                if (await connection.execute(open_one.values(values))).rowcount != 1:
                    return False
                # The program that waits for it goes on with this decision for as long as it stands.
                await connection.execute(update(runs).where(waits, runs.c.until < until).values(until=until))
                return True
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error

    async def withdraw(self, ids: Sequence[str], now: datetime) -> None:
        unused = table.c.state.in_((TicketState.WAITING.value, TicketState.ALLOWED.value))
        own = update(table).where(table.c.id.in_(ids), unused, table.c.deadline >= to_microseconds(now))
        try:
            async with self._database.write_transaction() as connection:
                await connection.execute(
                    own.values(deadline=to_microseconds(now) - 1, sealed=None, ended=WITHDRAWN_NOTE)
                )
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error

    async def find(self, id: str) -> Ticket | None:
        try:
            async with self._database.read_transaction() as connection:
                found = await _readable_tickets(connection, select(table).where(table.c.id == id))
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error
        return found[0] if found else None

    async def arguments(self, id: str) -> Mapping[str, Json] | None:
        try:
            async with self._database.read_transaction() as connection:
                sealed = (await connection.execute(select(table.c.sealed).where(table.c.id == id))).scalar()
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error
        return self._decrypt_arguments(sealed, id)

    async def list_tickets(self, *, waiting_at: datetime | None = None, limit: int = 100) -> Sequence[Ticket]:
        """Latest first; with a time, only those that wait for a decision then, the earliest deadline first."""
        chosen = select(table).limit(limit)
        if waiting_at is None:
            chosen = chosen.order_by(table.c.asked_at.desc(), table.c.id)
        else:
            chosen = chosen.where(*_waiting_conditions(waiting_at)).order_by(table.c.deadline, table.c.id)
        try:
            async with self._database.read_transaction() as connection:
                return await _readable_tickets(connection, chosen)
        except StoreError as error:
            raise TicketsUnavailable(str(error)) from error

    async def _check_limits(
        self, connection: AsyncConnection, principal: PrincipalId, now: datetime
    ) -> TooManyTickets | None:
        count = select(func.count()).select_from(table).where(*_waiting_conditions(now))
        own = (await connection.execute(count.where(table.c.principal == index_key(principal)))).scalar_one()
        if own >= self._max_waiting_of_principal:
            return TooManyTickets(self._max_waiting_of_principal, is_per_principal=True)
        return (
            TooManyTickets(self._max_waiting, is_per_principal=False)
            if (await connection.execute(count)).scalar_one() >= self._max_waiting
            else None
        )

    def _encrypt_arguments(self, wanted: NewTicket) -> str | ArgumentsTooLarge | None:
        """Without a key the arguments are not kept, and the caller repeats its call."""
        try:
            text = json.dumps(dict(wanted.arguments)).encode()
            if len(text) > MAX_ARGUMENT_BYTES:
                return ArgumentsTooLarge(MAX_ARGUMENT_BYTES)
            from pegboard.store.encryption import encrypt

            return encrypt(text, _secret_name(wanted.id), self._key(True))
        except (NoKeyError, ValueError, RecursionError):
            return None

    def _decrypt_arguments(self, text: str | None, id: str) -> Mapping[str, Json] | None:
        if text is None:
            return None
        from pegboard.store.encryption import decrypt

        try:
            arguments = json.loads(decrypt(text, _secret_name(id), self._key(False)))
        except (NoKeyError, ValueError, RecursionError):
            return None
        return arguments if isinstance(arguments, dict) else None


async def void_standing_approvals(
    connection: AsyncConnection, places: Iterable[tuple[ToolId, PrincipalId]], now: datetime
) -> None:
    """Ends every unused yes that was given along with a standing permission for these tools and principals.

    By a mark and not by the deadline alone, because the clocks of gateways differ.
    """
    given = (
        table.c.state == TicketState.ALLOWED.value,
        table.c.scope.in_((ConsentScope.CLIENT.value, ConsentScope.ALWAYS.value)),
    )
    for tool, principal in places:
        kind, text = kind_and_text(tool)
        own = table.c.kind == kind, table.c.tool_id == text, table.c.principal == index_key(principal)
        await _void(connection, (*given, *own), now)


async def void_tickets_of(connection: AsyncConnection, principals: Iterable[PrincipalId], now: datetime) -> None:
    """Ends every ticket of these principals that waits or is allowed: another principal may get the name."""
    unused = table.c.state.in_((TicketState.WAITING.value, TicketState.ALLOWED.value))
    for principal in principals:
        await _void(connection, (unused, table.c.principal == index_key(principal)), now)


async def void_tickets_at(connection: AsyncConnection, sources: Iterable[ProviderKey], now: datetime) -> None:
    """Ends every ticket of these servers and toolsets that waits or is allowed: others may get their names."""
    unused = table.c.state.in_((TicketState.WAITING.value, TicketState.ALLOWED.value))
    for source in sources:
        kind, prefix = kind_and_text(ToolId(source, ""))
        own = table.c.kind == kind, table.c.tool_id.startswith(prefix, autoescape=True)
        await _void(connection, (unused, *own), now)


async def _void(connection: AsyncConnection, chosen: tuple[Any, ...], now: datetime) -> None:
    ended = update(table).where(*chosen, table.c.ended == "")
    await connection.execute(ended.values(deadline=to_microseconds(now) - 1, sealed=None, ended=REVOKED_NOTE))


async def _mark_begun(connection: AsyncConnection, ticket: Ticket, call: CallId, now: datetime) -> bool:
    use = update(table).where(
        table.c.id == ticket.id,
        table.c.state == TicketState.ALLOWED.value,
        table.c.ended == "",
        table.c.deadline >= to_microseconds(now),
    )
    values = {"state": TicketState.RUNNING.value, "begun_at": to_microseconds(now), "call_id": call, "sealed": None}
    return (await connection.execute(use.values(values))).rowcount == 1


async def _delete_expired(connection: AsyncConnection, now: datetime) -> None:
    """Arguments of what nobody can use any more, and tickets that nobody asks for any more."""
    lapsed = update(table).where(table.c.deadline < to_microseconds(now), table.c.sealed.is_not(None))
    await connection.execute(lapsed.values(sealed=None))
    await connection.execute(delete(table).where(table.c.asked_at < to_microseconds(now - TICKET_RETENTION)))


async def _fetch(connection: AsyncConnection, id: str) -> Ticket:
    return ticket_of(dict((await connection.execute(select(table).where(table.c.id == id))).mappings().one()))


async def _readable_tickets(connection: AsyncConnection, chosen: Select[Any]) -> list[Ticket]:
    """Those that can be read. The others allow nothing; `pegboard store check` names them."""
    found: list[Ticket] = []
    for row in await selected_rows(connection, table, chosen):
        with suppress(*UNREADABLE_ERRORS):
            check_types(table, row)
            found.append(ticket_of(row))
    return found


def _waiting_conditions(now: datetime) -> tuple[Any, ...]:
    return table.c.state == TicketState.WAITING.value, table.c.ended == "", table.c.deadline >= to_microseconds(now)


def _ticket_row(wanted: NewTicket, now: datetime, deadline: datetime, sealed: str | None) -> dict[str, object]:
    kind, tool = kind_and_text(wanted.tool)
    return {
        "id": wanted.id,
        "asked_at": to_microseconds(now),
        "deadline": to_microseconds(deadline),
        "principal": index_key(wanted.principal),
        "whole_principal": overflow_text(wanted.principal),
        "client": wanted.client,
        "tool_id": tool,
        "kind": kind,
        "name": wanted.name,
        "fingerprint": wanted.fingerprint,
        "digest": wanted.digest,
        "shown": json.dumps(
            wanted.displayed_arguments if sealed is None else wanted.redacted_arguments, ensure_ascii=False
        ),
        "sealed": sealed,
        "state": TicketState.WAITING.value,
        "note": "",
        "ended": "",
        "whose": None if wanted.identity is None else str(wanted.identity),
        "run_id": wanted.run,
        "filled": _filled_text(wanted.filled_arguments),
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
        redacted_arguments=json.loads(row["shown"]),
        asked_at=from_microseconds(row["asked_at"]),
        deadline=from_microseconds(row["deadline"]),
        state=TicketState(row["state"]),
        by=None if row["decided_by"] is None else PrincipalId(row["decided_by"]),
        decided_at=None if row["decided_at"] is None else from_microseconds(row["decided_at"]),
        scope=None if row["scope"] is None else ConsentScope(row["scope"]),
        note=row["note"],
        started_at=None if row["begun_at"] is None else from_microseconds(row["begun_at"]),
        call=None if row["call_id"] is None else CallId(row["call_id"]),
        outcome=row["ended"],
        identity=parse_identity(row["whose"]),
        run=None if row["run_id"] is None else CallId(row["run_id"]),
        filled_arguments=_parse_filled(row["filled"]),
    )


def _filled_text(filled: FilledArguments | None) -> str | None:
    if filled is None:
        return None
    members = {"tag": filled.digest, "defaults": dict(filled.defaults), "pinned": [*filled.pinned_names]}
    return json.dumps(members, ensure_ascii=False)


def _parse_filled(text: str | None) -> FilledArguments | None:
    if text is None:
        return None
    members = json.loads(text)
    return FilledArguments(members["tag"], members["defaults"], tuple(members["pinned"]))


def _secret_name(id: str) -> str:
    return f"ticket {id}"


# Rows beside the policy that cannot be read: tickets, and the last uses of tokens and standing permissions.
#
# They are no decisions and have no version. One that cannot be read is skipped, so nothing is allowed by it, and it
# is
# named with the unreadable rows of the policy.


def _use_of(row: Row) -> tuple[str, datetime]:
    return row["id"], from_microseconds(row["used_at"])


_VALUES: Final[Mapping[Table, Callable[[Row], Any]]] = {
    schema.tickets: ticket_of,
    schema.consent_uses: _use_of,
    schema.token_uses: _use_of,
}

TABLES: Final = tuple(_VALUES)


async def last_uses(connection: AsyncConnection, table: Table) -> Mapping[str, datetime]:
    found: dict[str, datetime] = {}
    for row in (await read_tables(connection, [table]))[table]:
        with suppress(*UNREADABLE_ERRORS):
            check_types(table, row)
            found.update([_use_of(row)])
    return found


def unreadable_records(rows: Mapping[Table, Sequence[Row]]) -> Iterator[UnreadableRow]:
    for each, value in _VALUES.items():
        for row in rows[each]:
            try:
                check_types(each, row)
                value(row)
            except UNREADABLE_ERRORS as error:
                yield UnreadableRow(stored_row(each, row), RevokesPermission(), describe_error(error))


# Standing permissions, to row and back; one of them as it is now; and when each was used last.

NO_END: Final = "never"
"""The end of a standing permission without one. Written out, so that a missing end is not read as none."""


def consent_row(id: str, consent: Consent) -> Row:
    kind, text = kind_and_text(consent.tool)
    return {
        "id": id,
        "tool_id": text,
        "kind": kind,
        "fingerprint": consent.fingerprint,
        "principal": consent.principal,
        "client": consent.client,
        "by": consent.by,
        "at": consent.at.isoformat(),
        "until": NO_END if consent.until is None else consent.until.isoformat(),
        "whose": None if consent.identity is None else str(consent.identity),
    }


def consent_of(row: Row) -> tuple[str, Consent]:
    consent = Consent(
        row["id"],
        tool_of(row["kind"], row["tool_id"]),
        Fingerprint(row["fingerprint"]),
        PrincipalId(row["principal"]),
        row["client"],
        PrincipalId(row["by"]),
        parse_instant(row["at"]),
        _parse_end(row["until"], parse_instant(row["at"])),
        parse_identity(row["whose"]),
    )
    return consent.id, consent


def _parse_end(until: str | None, given: datetime) -> datetime | None:
    """An older Pegboard writes no end: it counts from when the permission was given, and is never unlimited."""
    if until is None:
        return given + timedelta(days=DEFAULT_CONSENT_DAYS)
    return None if until == NO_END else parse_instant(until)


class SqlConsentStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def find(self, id: str) -> Consent | None:
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(select(consents).where(consents.c.id == id))).mappings().first()
        try:
            return None if row is None else consent_of(dict(row))[1]
        except (ValueError, TypeError, AssertionError) as error:
            raise StoreError(
                f"{self._database.display_url} holds a standing permission {id!r} that cannot be read: {error}"
            ) from error

    async def save_uses(self, uses: Mapping[str, datetime]) -> None:
        """Of two gateways on one store the one that wrote last is believed, as with tokens. The uses of permissions
        that are gone are removed."""
        if not uses:
            return
        async with self._database.write_transaction() as connection:
            await self._database.lock_for_write(connection)
            kept = {row.id for row in (await connection.execute(select(consents.c.id))).all()}
            replaced = consent_uses.c.id.in_([*uses]) | consent_uses.c.id.not_in(select(consents.c.id))
            await connection.execute(delete(consent_uses).where(replaced))
            rows = [{"id": id, "used_at": to_microseconds(at)} for id, at in uses.items() if id in kept]
            if rows:
                await connection.execute(insert(consent_uses), rows)

    async def last_uses(self) -> Mapping[str, datetime]:
        async with self._database.read_transaction() as connection:
            return await last_uses(connection, consent_uses)
