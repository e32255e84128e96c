"""Everything that is wrong with the board now, each with the command that fixes it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from shlex import quote
from typing import Final, Literal, TypeAlias, assert_never

from pegboard.config.overrides import PIN_ADVICE, plaintext_secrets
from pegboard.core.calls.caller_credentials import caller_credentials_warning, shared_toolset_warning
from pegboard.core.decision.facts import servers_under_review
from pegboard.core.decision.status import (
    LockStatus,
    explain_reason,
    find_unset_secret,
    find_unusable_secret,
    outage_kind,
)
from pegboard.core.decision.unknown_names import unknown_names
from pegboard.core.explain.effects import OverrideMisfit, override_misfits
from pegboard.core.model.catalogue import NO_RESOURCES, ProviderDown, ProviderNeedsSignIn, ProviderStart
from pegboard.core.model.characters import escape_name
from pegboard.core.model.ids import LOCAL_PRINCIPAL, BuiltinKey, SourceKey, ToolsetKey, provider_title
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt, Http, InstalledBy, Origin
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.text import quote_name
from pegboard.core.model.tool import Tool
from pegboard.core.model.web_api import WebApi
from pegboard.core.overrides.model import Override
from pegboard.core.policy.unreadable_rows import UNREADABLE_ROW, describe_effect, repair_command
from pegboard.core.presentations.costs import PresentationCost, presentation_costs
from pegboard.core.presentations.own_tools import exceeds_threshold, unmatched_pinned_entries
from pegboard.core.resources.requests import template_overlaps
from pegboard.core.resources.visibility import (
    ResourcesWithheld,
    UnreviewedServer,
    explain_not_visible,
    resource_visibility,
)
from pegboard.gateway.board import BoardState
from pegboard.gateway.maintenance import UNKNOWN_NAMES
from pegboard.gateway.resources import fits_template
from pegboard.gateway.tickets import TicketDesk
from pegboard.ports.stores import TicketsUnavailable

# What the tools of the board cost a model by each presentation, and when somebody should be told.


def costs_of(board: BoardState, view: View, python: Tool | None = None) -> tuple[PresentationCost, ...]:
    return presentation_costs(board.resolution(view), board.policy, python)


def presentation_warning(board: BoardState) -> str | None:
    """That many tools are shown each as itself, and what that costs; `None` while they are few, or shown otherwise."""
    presenting, view = board.policy.declared.presentation, View()
    if presenting.presentation is not PresentationMode.DIRECT or not exceeds_threshold(
        board.resolution(view), presenting
    ):
        return None
    direct, *others = costs_of(board, view)
    told = [f"{cost.presentation} {_round_tokens(cost.tokens)}" for cost in others]
    instead = f"{', '.join(told[:-1])} and {told[-1]}"
    return (
        f"{direct.tools} tools are shown each as itself at /mcp, which costs a model about "
        f"{_round_tokens(direct.tokens)} "
        f"tokens before it does anything; {instead}."
    )


PRESENTATION_FIX = (
    "Connect clients to /mcp/search, or set presentation: search in pegboard.yaml; presentation_threshold says how "
    "many tools are too many."
)


def _round_tokens(tokens: int) -> str:
    """An estimate has no more than two digits that mean something."""
    step = 10 ** max(0, len(str(tokens)) - 2)
    return f"{round(tokens / step) * step:,}"


MAX_DUPLICATES: Final = 10
"""Two servers that share everything would fill the page; the first ones tell enough."""


IssueSeverity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class BoardIssue:
    """An error stops something from working; a warning only needs a look."""

    subject: str
    message: str
    fix: str
    severity: IssueSeverity = "error"


def diagnose(board: BoardState, *, running: bool = True) -> tuple[BoardIssue, ...]:
    """Not `running` on a board that one command has put up for itself: nobody could restart anything on it."""
    return (
        *_notices(board),
        *_unreadable_rows(board),
        *_config_warnings(board),
        *_reviews(board),
        *_web_api(board),
        *_servers(board, running),
        *_unknown_names(board),
        *_pending_approvals(board),
        *_resource_conflicts(board),
        *_presentation_warnings(board),
        *_interactive(board),
    )


async def pending_ticket_findings(desk: TicketDesk) -> tuple[BoardIssue, ...]:
    """Asked of the store, because any replica may have been given one."""
    try:
        waiting = await desk.pending_tickets()
    except TicketsUnavailable as error:
        return (BoardIssue("tickets", f"Calls that wait for a person cannot be told: {error}", "Mend the store."),)
    if not waiting:
        return ()
    first = waiting[0]
    wait = "call waits" if len(waiting) == 1 else "calls wait"
    what = f"{len(waiting)} {wait} for your decision, first one of {quote_name(first.tool)}."
    return (BoardIssue("tickets", what, f"pegboard tickets show {first.id}", severity="warning"),)


def _notices(board: BoardState) -> Iterator[BoardIssue]:
    for notice in board.notices.values():
        if notice.subject == UNKNOWN_NAMES or notice.subject.startswith(UNREADABLE_ROW):
            continue
        yield BoardIssue(notice.subject, notice.text, "Mend what it names; it is read again by itself.")


def _unreadable_rows(board: BoardState) -> Iterator[BoardIssue]:
    for row in board.policy.decisions.unreadable:
        what = f"A row of the store cannot be read ({row.row}): {row.why}. {describe_effect(row)}"
        yield BoardIssue(f"store {row.row.table}", what, repair_command(row))


def _config_warnings(board: BoardState) -> Iterator[BoardIssue]:
    """What keeps a server down is told with the server."""
    reasons = [word.health.why for word in board.catalogue.listings.values() if isinstance(word.health, ProviderDown)]
    for remark in board.current_warnings():
        if not any(remark.message.rstrip(".") in why for why in reasons):
            yield BoardIssue(
                remark.file, board.config_warnings.format_problem(remark), f"Edit {remark.location}", severity="warning"
            )


def _reviews(board: BoardState) -> Iterator[BoardIssue]:
    for reason in servers_under_review(board.policy):
        key = reason.server
        remove = "toolset remove" if isinstance(key, ToolsetKey) else "servers remove"
        fix = (
            f"Look at it: pegboard servers review {key}   Then: pegboard servers release {key}   "
            f"If you do not want it: pegboard {remove} {key}"
        )
        yield BoardIssue(str(reason.server), explain_reason(reason), fix)


def _web_api(board: BoardState) -> Iterator[BoardIssue]:
    """Its toolsets are reached the same way, so what is wrong with one is wrong with all, and told once."""
    policy, api = board.policy, board.policy.web_api
    if api is None:
        return
    own = {key.toolset: server for key, server in policy.servers.items() if isinstance(server.connection, WebApi)}
    down = {
        listing.health.why: listing.source.toolset
        for listing in board.catalogue.listings.values()
        if isinstance(listing.health, ProviderDown) and listing.health.fix and listing.source.toolset in own
    }
    for why, toolset in down.items():
        line = next((each.location for each in board.current_warnings() if each.message.rstrip(".") in why), None)
        wrong = f"{why.rstrip('.')}. None of its tools can be called."
        where = f"Correct it at {line or own[toolset].origin}. "
        yield BoardIssue(api.kind, wrong, f"{where}pegboard {api.kind} check")
    for key, server in policy.servers.items():
        # Of those in the file the file's remarks tell.
        if key.toolset in own and isinstance(server.origin, InstalledBy):
            told = f"{shared_toolset_warning(key.toolset, api.title)}."
            yield BoardIssue(str(key), told, f"pegboard toolset show {key.toolset}", severity="warning")
    if not down and (warning := caller_credentials_warning(api)) is not None:
        prefix = f"{api.kind.upper()}_REQUEST"
        fix = (
            f"If they should not, say so: {api.kind}.request_credentials; or {prefix}_HEADER_PREFIX= and "
            f"{prefix}_AUTHORIZATION_HEADER=0"
        )
        yield BoardIssue(api.kind, warning, fix, severity="warning")


def _servers(board: BoardState, running: bool) -> Iterator[BoardIssue]:
    for source, listing in board.catalogue.listings.items():
        match listing.health:
            case ProviderDown(fix=fix) if fix:
                pass
            case ProviderDown(_, why) if (wanted := find_unset_secret(why)) is not None:
                yield BoardIssue(str(source), f"{_display_name(source)} is down: {outage_kind(why)}.", wanted.command)
            case ProviderDown(_, why) if (wanted := find_unusable_secret(why)) is not None:
                fix = f"Mend what it names, or set the secret to something else: {wanted.command}"
                yield BoardIssue(str(source), f"{_display_name(source)} is down: {why.rstrip('.')}.", fix)
            case ProviderDown(_, why, _, last_lines):
                told = f" It last wrote: {last_lines[-1]!r}" if last_lines else ""
                yield BoardIssue(
                    str(source),
                    f"{_display_name(source)} is down: {why.rstrip('.')}.{told}",
                    _fix_for(source, board, running),
                )
            case ProviderNeedsSignIn(_, why):
                told = f"needs sign-in: {why.rstrip('.')}" if why else "needs sign-in"
                yield BoardIssue(str(source), f"{_display_name(source)} {told}.", f"pegboard servers sign-in {source}")
            case ProviderStart(attempt) if attempt > 1:
                told = (
                    f"{_display_name(source)} is not up: it failed before, and this is attempt {attempt} to start it."
                )
                yield BoardIssue(str(source), told, _fix_for(source, board, running))
            case _:
                pass
        for flaw in listing.problems:
            yield BoardIssue(
                str(source),
                f"{_display_name(source)} {flaw.sentence}",
                flaw.fix or "Tell the server's author; its other tools work.",
                severity="warning",
            )


def _display_name(source: SourceKey) -> str:
    return str(source) if isinstance(source, BuiltinKey) else provider_title(source)


def _fix_for(source: SourceKey, board: BoardState, running: bool) -> str:
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


def _unknown_names(board: BoardState) -> Iterator[BoardIssue]:
    """A toolset that the file names is shown with its line, among the remarks."""
    doubted = {doubt.toolset for doubt in board.config_warnings.undeclared_toolsets}
    for entry in unknown_names(board.catalogue, board.policy):
        if entry.kind != "toolset" or entry.text not in doubted:
            yield BoardIssue(entry.setting, str(entry), entry.fix, severity="warning" if entry.is_pattern else "error")


def _pending_approvals(board: BoardState) -> Iterator[BoardIssue]:
    waiting = [v.tool.id for v in board.resolution(View()).locked_tools() if v.status is LockStatus.PENDING_APPROVAL]
    if waiting:
        first = waiting[0]
        yield BoardIssue(
            "approvals",
            f"{len(waiting)} tool{' waits' if len(waiting) == 1 else 's wait'} for approval, first "
            f"{quote_name(first)}.",
            "pegboard approvals list",
            severity="warning",
        )


def _presentation_warnings(board: BoardState) -> Iterator[BoardIssue]:
    if (told := presentation_warning(board)) is not None:
        yield BoardIssue("presentation", told, PRESENTATION_FIX, severity="warning")
    shown = {entry.text for entry in unknown_names(board.catalogue, board.policy)}
    for listed, unknown in unmatched_pinned_entries(board.resolution(View()), board.policy.declared.presentation):
        if listed.text in shown or listed.optional:
            continue
        yield BoardIssue(
            "always_visible", f"always_visible ({listed.at}): {unknown}", f"Edit {listed.at}", severity="warning"
        )


def _interactive(board: BoardState) -> Iterator[BoardIssue]:
    """For information: an operator should know whose clients confirm calls once callers have tokens."""
    policy = board.policy
    for principal in sorted({*policy.callers, LOCAL_PRINCIPAL}) if policy.requires_tokens else ():
        marked = policy.interactive_mark(principal)
        if not marked.is_marked:
            continue
        unmark = (
            f"take interactive out at {marked.at}"
            if isinstance(marked.at, DeclaredAt)
            else f"pegboard grants confirmation {quote(principal)} --not-interactive"
        )
        yield BoardIssue(
            "principals",
            f"{principal} is interactive: answers in its clients confirm calls.",
            f"If no person sits at them: {unmark}",
            severity="warning",
        )


def _resource_conflicts(board: BoardState) -> Iterator[BoardIssue]:
    offered = board.resource_view(View())
    for uri, sources in islice(offered.duplicates.items(), MAX_DUPLICATES):
        named = " and ".join(map(str, sources))
        yield BoardIssue(
            uri,
            f"{named} offer the resource {uri!r}; {sources[0]} answers for it.",
            "Switch one of them off, or narrow a request to the one that is meant.",
            severity="warning",
        )
    for overlap in islice(template_overlaps(offered, fits_template), MAX_DUPLICATES):
        yield BoardIssue(
            overlap.pattern,
            f"The template {overlap.pattern!r} of {overlap.source} also fits what {overlap.other} has, such as "
            f"{overlap.uri!r}; {overlap.answered_by} answers for that.",
            "Switch one of them off, or narrow a request to the one that is meant.",
            severity="warning",
        )
    for source, opening in resource_visibility(board.catalogue, board.policy, View()).items():
        match opening:
            case ResourcesWithheld(UnreviewedServer()) if board.catalogue.listings[source].resources != NO_RESOURCES:
                told = explain_not_visible(source, opening) or ""
                yield BoardIssue(
                    str(source), told, f"Set trust: baseline for {source}, if you trust it.", severity="warning"
                )
            case _:
                pass


# Overrides held against what servers really take: with values, which only a check of schemas can judge.

_DEFINITION_KEYWORDS: Final = ("$schema", "$defs", "definitions")


def all_misfits(board: BoardState) -> tuple[OverrideMisfit, ...]:
    board.refresh_values()
    return tuple(override_misfits(board.catalogue, board.policy))


def unfit_overrides(board: BoardState) -> Iterator[BoardIssue]:
    for misfit in all_misfits(board):
        row = misfit.override
        about = str(row.target if misfit.tool is None else misfit.tool)
        place = row.origin(misfit.field) if misfit.field is not None else next(iter(row.origins.values()), None)
        where = "" if place is None else f" ({_owner(place)})"
        fix = (
            f"Edit {place}" if isinstance(place, DeclaredAt) and not row.from_manifest else _command(row, misfit.field)
        )
        what = f"Override of {escape_name(str(row.target))} in {row.toolset}{where}: {misfit.problem}"
        yield BoardIssue(about, what, fix, severity="warning")


def clear_pins(board: BoardState) -> Iterator[BoardIssue]:
    """Of the store alone: in a file of their own, operators may write what they like."""
    decided = board.policy.decisions
    for row in (*decided.manifest_overrides, *decided.overrides):
        for name, argument in (row.arguments or {}).items():
            for place in plaintext_secrets(name, argument):
                told = (
                    f"Override of {escape_name(str(row.target))} in {row.toolset}: what is pinned at {place} "
                    f"{PIN_ADVICE}."
                )
                again = "" if row.from_manifest else "   Then pin it again"
                yield BoardIssue(str(row.target), told, f"{_command(row, f'arguments.{name}')}{again}")


def _owner(origin: Origin) -> str:
    match origin:
        case DeclaredAt():
            return str(origin)
        case InstalledBy(by, at):
            return f"by {by} on {at:%Y-%m-%d}"
        case _:
            assert_never(origin)


def _command(row: Override, field: str | None) -> str:
    if row.from_manifest:
        return f"Mend the toolset.yaml of {row.toolset} and import it again: pegboard toolset import"
    rest = f" {field}" if field is not None else ""
    return f"pegboard overrides clear {shlex.quote(str(row.target))}{rest} --toolset {row.toolset}"
