"""Tickets whose tools went with their toolset or server: nothing is left that a decision could let run."""

from dataclasses import replace

from .database.source import DatabaseTool
from .ids import BuiltinKey
from .policy import Policy
from .ticket import Ticket, TicketState
from .tool import Tool


def is_on_board(ticket: Ticket, policy: Policy) -> bool:
    """A tool that its server does not list now may come back; one without a server does not."""
    source = ticket.tool.source
    return isinstance(source, BuiltinKey) or source in policy.servers


def confirms_one_call(ticket: Ticket, policy: Policy, tool: Tool | None) -> bool:
    """Whether a person must see each such call. Nobody set that the tool must be confirmed, so it was this one alone;
    or `tool`, as it is now, may change a database, and a yes to all of its calls would be one to statements that
    nobody saw."""
    if not isinstance(ticket.tool.source, BuiltinKey):
        return False
    tool = _tool_seen_by_caller(ticket, policy, tool)
    may_change = isinstance(tool, DatabaseTool) and not tool.spec.hints.read_only
    return may_change or not policy.overrides.requires_confirmation(ticket.tool)


def needs_second_step(ticket: Ticket, policy: Policy, tool: Tool | None) -> bool:
    """Whether a standing permission needs a second confirmation: the tool claims to be destructive; or it is not
    listed as the ticket has it, so that nobody knows what it claims."""
    tool = _tool_seen_by_caller(ticket, policy, tool)
    return tool is None or tool.spec.fingerprint != ticket.fingerprint or tool.spec.claims_destructive


def _tool_seen_by_caller(ticket: Ticket, policy: Policy, tool: Tool | None) -> Tool | None:
    databases = policy.allowed_databases(ticket.principal)
    return tool.narrow_to(databases) if isinstance(tool, DatabaseTool) and databases is not None else tool


def withdraw_if_orphaned(ticket: Ticket, policy: Policy) -> Ticket:
    is_open = ticket.state in (TicketState.WAITING, TicketState.ALLOWED)
    return replace(ticket, state=TicketState.EXPIRED) if is_open and not is_on_board(ticket, policy) else ticket


def withdrawn_text(ticket: Ticket) -> str:
    return (
        f"Ticket {ticket.id} is for {ticket.tool}, which is not on the board any more: {ticket.tool.source} was "
        "removed. There is nothing to decide."
    )
