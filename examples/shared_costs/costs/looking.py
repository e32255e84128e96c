"""Tools that read."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from pegboard.tools import ToolContext, tool

from .ledger import Expense, Kind, expenses


@dataclass
class Payment:
    """Money that one person should give another."""

    debtor: str
    creditor: str
    amount: Decimal


@dataclass
class Settlement:
    """Payments that make everybody even, and how each person stands before them."""

    payments: list[Payment]
    balances: dict[str, Decimal]


@tool(read_only=True)
def list_expenses(
    context: ToolContext,
    kind: Annotated[Kind | None, "Only these."] = None,
    order: Annotated[Literal["day", "amount"], "By day, or the dearest first."] = "day",
) -> list[Expense]:
    """List what was paid."""
    found = [expense for expense in expenses(context) if kind in (None, expense.kind)]
    if order == "day":
        return sorted(found, key=lambda expense: expense.day)
    return sorted(found, key=lambda expense: expense.amount, reverse=True)


@tool(read_only=True)
def settle_up(context: ToolContext) -> Settlement:
    """Work out who should give how much to whom, so that everybody is even."""
    return settlement(expenses(context))


def settlement(known: list[Expense]) -> Settlement:
    """In cents, because parts of a cent would get lost."""
    cents: defaultdict[str, int] = defaultdict(int)
    for expense in known:
        whole = int(expense.amount * 100)
        cents[expense.paid_by] += whole
        part, rest = divmod(whole, len(expense.shared_by))
        for place, person in enumerate(expense.shared_by):
            cents[person] -= part + (place < rest)
    balances = {person: Decimal(cents[person]) / 100 for person in sorted(cents)}
    payments = []
    while debts := {person: owed for person, owed in sorted(cents.items()) if owed < 0}:
        debtor = min(debts, key=lambda person: debts[person])
        creditor = max(sorted(cents), key=lambda person: cents[person])
        amount = min(-cents[debtor], cents[creditor])
        cents[debtor] += amount
        cents[creditor] -= amount
        payments.append(Payment(debtor, creditor, Decimal(amount) / 100))
    return Settlement(payments, balances)
