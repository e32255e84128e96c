"""What is wrong with the board now, and the one command that mends each thing."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from shlex import quote
from typing import Final

from pegboard.core.catalogue import Down, NeedsSignIn, Starting
from pegboard.core.docspace.misconfigured import misconfigured
from pegboard.core.docspace.on_board import docspace_on, lending, shares_text
from pegboard.core.docspace.toolsets import TOOLSETS
from pegboard.core.ids import LOCAL, BuiltinKey, Source, ToolsetKey, titled
from pegboard.core.offer import NOTHING
from pegboard.core.offers import Unreviewed, Withheld, openings, why_not
from pegboard.core.outage import kind, unfit, unset
from pegboard.core.overlap import overlaps
from pegboard.core.presentations.kept import kept_in_vain
from pegboard.core.rules import under_review
from pegboard.core.said import plainly
from pegboard.core.server import DeclaredAt, Http, InstalledBy
from pegboard.core.status import Status, sentence
from pegboard.core.unknown_names import unknown_names
from pegboard.core.unreadable import UNREADABLE_ROW, describe_effect, repair_command
from pegboard.core.view import View
from pegboard.ports import TicketsAway

from .board import Board
from .presenting import INSTEAD, too_much
from .templates import fits
from .tickets import TicketDesk
from .unknown_names import UNKNOWN_NAMES

MOST_DOUBLES: Final = 10
"""Two servers that share everything would fill the page; the first ones tell enough."""

_LENDS_NOT: Final = (
    "If they should not, say so: docspace.request_credentials; or DOCSPACE_REQUEST_HEADER_PREFIX= and "
    "DOCSPACE_REQUEST_AUTHORIZATION_HEADER=0"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """`grave` things stop something from working; the others only want a look."""

    subject: str
    what: str
    mend: str
    grave: bool = True


def diagnose(board: Board, *, running: bool = True) -> tuple[Finding, ...]:
    """Not `running` on a board that one command has put up for itself: nobody could restart anything on it."""
    return (
        *_notices(board),
        *_unreadable_rows(board),
        *_remarks(board),
        *_reviews(board),
        *_docspace(board),
        *_servers(board, running),
        *_unknown_names(board),
        *_waiting(board),
        *_offers(board),
        *_presented(board),
        *_interactive(board),
    )


async def waiting_tickets(desk: TicketDesk) -> tuple[Finding, ...]:
    """Asked of the store, because any replica may have been given one."""
    try:
        waiting = await desk.waiting()
    except TicketsAway as error:
        return (Finding("tickets", f"Calls that wait for a person cannot be told: {error}", "Mend the store."),)
    if not waiting:
        return ()
    first = waiting[0]
    wait = "call waits" if len(waiting) == 1 else "calls wait"
    what = f"{len(waiting)} {wait} for your decision, first one of {plainly(first.tool)}."
    return (Finding("tickets", what, f"pegboard tickets show {first.id}", grave=False),)


def _notices(board: Board) -> Iterator[Finding]:
    for notice in board.notices.values():
        if notice.subject == UNKNOWN_NAMES or notice.subject.startswith(UNREADABLE_ROW):
            continue
        yield Finding(notice.subject, notice.text, "Mend what it names; it is read again by itself.")


def _unreadable_rows(board: Board) -> Iterator[Finding]:
    for row in board.policy.decided.unreadable:
        what = f"A row of the store cannot be read ({row.row}): {row.why}. {describe_effect(row)}"
        yield Finding(f"store {row.row.table}", what, repair_command(row))


def _remarks(board: Board) -> Iterator[Finding]:
    """What keeps a server down is told with the server."""
    reasons = [word.health.why for word in board.catalogue.listings.values() if isinstance(word.health, Down)]
    for remark in board.standing_remarks():
        if not any(remark.what.rstrip(".") in why for why in reasons):
            yield Finding(remark.file, board.remarks.words(remark), f"Edit {remark.place}", grave=False)


def _reviews(board: Board) -> Iterator[Finding]:
    for reason in under_review(board.policy):
        key = reason.server
        remove = "toolset remove" if isinstance(key, ToolsetKey) else "servers remove"
        mend = (
            f"Look at it: pegboard servers review {key}   Then: pegboard servers release {key}   "
            f"If you do not want it: pegboard {remove} {key}"
        )
        yield Finding(str(reason.server), sentence(reason), mend)


def _docspace(board: Board) -> Iterator[Finding]:
    """Its toolsets are reached the same way, so what is wrong with one is wrong with all, and told once."""
    down = {
        listing.health.why: source
        for source, listing in board.catalogue.listings.items()
        if isinstance(listing.health, Down) and misconfigured(listing.health.why) is not None
    }
    for why, source in down.items():
        server = None if isinstance(source, BuiltinKey) else board.policy.servers.get(source)
        line = next((each.place for each in board.standing_remarks() if each.what.rstrip(".") in why), None)
        where = "" if server is None else f"Correct it at {line or server.origin}. "
        wrong = f"{why.rstrip('.')}. None of its tools can be called."
        yield Finding("docspace", wrong, f"{where}pegboard docspace check")
    for key, server in board.policy.servers.items():
        # Of those in the file the file's remarks tell.
        if key.toolset in TOOLSETS and isinstance(server.origin, InstalledBy) and docspace_on(board.policy) is not None:
            yield Finding(str(key), f"{shares_text(key.toolset)}.", f"pegboard toolset show {key.toolset}", grave=False)
    if not down and (told := lending(board.policy)) is not None:
        yield Finding("docspace", told, _LENDS_NOT, grave=False)


def _servers(board: Board, running: bool) -> Iterator[Finding]:
    for source, listing in board.catalogue.listings.items():
        match listing.health:
            case Down(_, why) if misconfigured(why) is not None:
                pass
            case Down(_, why) if (wanted := unset(why)) is not None:
                yield Finding(str(source), f"{_titled(source)} is down: {kind(why)}.", wanted.command)
            case Down(_, why) if (wanted := unfit(why)) is not None:
                mend = f"Mend what it names, or set the secret to something else: {wanted.command}"
                yield Finding(str(source), f"{_titled(source)} is down: {why.rstrip('.')}.", mend)
            case Down(_, why, _, last_lines):
                told = f" It last wrote: {last_lines[-1]!r}" if last_lines else ""
                yield Finding(
                    str(source),
                    f"{_titled(source)} is down: {why.rstrip('.')}.{told}",
                    _mend(source, board, running),
                )
            case NeedsSignIn(_, why):
                told = f"needs sign-in: {why.rstrip('.')}" if why else "needs sign-in"
                yield Finding(str(source), f"{_titled(source)} {told}.", f"pegboard servers sign-in {source}")
            case Starting(attempt) if attempt > 1:
                told = f"{_titled(source)} is not up: it failed before, and this is attempt {attempt} to start it."
                yield Finding(str(source), told, _mend(source, board, running))
            case _:
                pass
        for flaw in listing.flaws:
            yield Finding(
                str(source),
                f"{_titled(source)} {flaw.sentence}",
                flaw.mend or "Tell the server's author; its other tools work.",
                grave=False,
            )


def _titled(source: Source) -> str:
    return str(source) if isinstance(source, BuiltinKey) else titled(source)


def _mend(source: Source, board: Board, running: bool) -> str:
    """What it wrote tells more than we know; where it was said how to reach it, that can be corrected."""
    server = None if isinstance(source, BuiltinKey) else board.policy.servers.get(source)
    again = f"try again: pegboard servers restart {source}" if running else "look again: pegboard doctor"
    match server and server.origin:
        case DeclaredAt() as at:
            correct = f"Correct it at {at}, {'or' if running else 'then'} {again}"
        case InstalledBy():
            toolset = board.policy.toolsets.get(source.toolset)
            how = f"pegboard servers remove {source}, then add it again"
            if toolset is not None and not toolset.user_mcp:
                how = "mend the toolset and import it again: pegboard toolset import"
            correct = f"Correct it ({how}), {'or' if running else 'then'} {again}"
        case _:
            correct = f"{again[0].upper()}{again[1:]}"
    # Only a program of ours has an error stream that we could show.
    written = server is not None and not isinstance(server.connection, Http)
    return f"pegboard servers logs {source}   {correct}" if written else correct


def _unknown_names(board: Board) -> Iterator[Finding]:
    """A toolset that the file names is shown with its line, among the remarks."""
    doubted = {doubt.toolset for doubt in board.remarks.doubts}
    for entry in unknown_names(board.catalogue, board.policy):
        if entry.what != "toolset" or entry.text not in doubted:
            yield Finding(entry.setting, str(entry), entry.fix, grave=not entry.is_pattern)


def _waiting(board: Board) -> Iterator[Finding]:
    waiting = [v.tool.id for v in board.resolution(View()).locked() if v.status is Status.PENDING_APPROVAL]
    if waiting:
        first = waiting[0]
        yield Finding(
            "approvals",
            f"{len(waiting)} tool{' waits' if len(waiting) == 1 else 's wait'} for approval, first {plainly(first)}.",
            "pegboard approvals list",
            grave=False,
        )


def _presented(board: Board) -> Iterator[Finding]:
    if (told := too_much(board)) is not None:
        yield Finding("presentation", told, INSTEAD, grave=False)
    shown = {entry.text for entry in unknown_names(board.catalogue, board.policy)}
    for listed, unknown in kept_in_vain(board.resolution(View()), board.policy.declared.presenting):
        if listed.text in shown or listed.optional:
            continue
        yield Finding("always_visible", f"always_visible ({listed.at}): {unknown}", f"Edit {listed.at}", grave=False)


def _interactive(board: Board) -> Iterator[Finding]:
    """For information: an operator should know whose clients confirm calls once callers have tokens."""
    policy = board.policy
    for principal in sorted({*policy.callers, LOCAL}) if policy.requires_tokens else ():
        marked = policy.interactive(principal)
        if not marked.is_marked:
            continue
        unmark = (
            f"take interactive out at {marked.at}"
            if isinstance(marked.at, DeclaredAt)
            else f"pegboard grants confirmation {quote(principal)} --not-interactive"
        )
        yield Finding(
            "principals",
            f"{principal} is interactive: answers in its clients confirm calls.",
            f"If no person sits at them: {unmark}",
            grave=False,
        )


def _offers(board: Board) -> Iterator[Finding]:
    offered = board.offered(View())
    for uri, sources in islice(offered.doubles.items(), MOST_DOUBLES):
        named = " and ".join(map(str, sources))
        yield Finding(
            uri,
            f"{named} offer the resource {uri!r}; {sources[0]} answers for it.",
            "Switch one of them off, or narrow a request to the one that is meant.",
            grave=False,
        )
    for overlap in islice(overlaps(offered, fits), MOST_DOUBLES):
        yield Finding(
            overlap.pattern,
            f"The template {overlap.pattern!r} of {overlap.source} also fits what {overlap.other} has, such as "
            f"{overlap.uri!r}; {overlap.answers} answers for that.",
            "Switch one of them off, or narrow a request to the one that is meant.",
            grave=False,
        )
    for source, opening in openings(board.catalogue, board.policy, View()).items():
        match opening:
            case Withheld(Unreviewed()) if board.catalogue.listings[source].offers != NOTHING:
                told = why_not(source, opening) or ""
                yield Finding(str(source), told, f"Set trust: baseline for {source}, if you trust it.", grave=False)
            case _:
                pass
