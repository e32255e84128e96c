"""Tools that write: arguments arrive checked, and as what the annotations say."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated

from anyio import to_thread

from pegboard.tools import ToolContext, tool

from .ledger import Amount, Expense, Kind, Person, forgotten, written


@dataclass
class Added:
    """What came into the ledger."""

    count: int
    total: Decimal


def add_expense(
    what: Annotated[str, "What was paid for, in a few words."],
    amount: Annotated[Amount, "What it cost, such as 12.50."],
    paid_by: Annotated[Person, "Who paid."],
    shared_by: Annotated[list[Person], "Whom it was for, in equal parts. Name the payer too if they had their part."],
    context: ToolContext,
    kind: Kind = Kind.OTHER,
    day: Annotated[date | None, "When, such as 2030-01-31; today if you leave it out."] = None,
) -> Expense:
    """Write down what one person paid for several."""
    made = Expense(what=what, amount=amount, paid_by=paid_by, shared_by=shared_by, kind=kind, day=day or date.today())
    return written(context, made)


async def add_expenses(expenses: list[Expense], context: ToolContext) -> Added:
    """Write down several expenses at once, such as those of a weekend.

    Args:
        expenses: Each with what, amount, paid_by and shared_by.
    """
    for done, expense in enumerate(expenses, start=1):
        # Async tools share one process, so what waits for a disk does so beside the others.
        await to_thread.run_sync(written, context, expense)
        context.progress(done, len(expenses), expense.what)
    return Added(len(expenses), sum((expense.amount for expense in expenses), Decimal(0)))


@tool(title="Start over", requires_confirmation=True, destructive=True)
def start_over(context: ToolContext) -> int:
    """Forget every expense. Tells how many there were."""
    forgot = forgotten(context)
    context.log(f"{forgot} expenses were forgotten")
    return forgot
