"""The ledger: one line of JSON for each expense, in a file of the toolset's workspace."""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pegboard.tools import ToolContext


class Kind(StrEnum):
    """What money goes to."""

    FOOD = "food"
    TRAVEL = "travel"
    HOME = "home"
    FUN = "fun"
    OTHER = "other"


Person = Annotated[str, Field(min_length=1, max_length=40)]
Amount = Annotated[Decimal, Field(gt=0, max_digits=9, decimal_places=2)]


class Expense(BaseModel):
    """Something that one person paid for several."""

    model_config = ConfigDict(extra="forbid")

    what: Annotated[str, Field(min_length=1, max_length=100, description="What was paid for.")]
    amount: Annotated[Amount, Field(description="What it cost, such as 12.50.")]
    paid_by: Annotated[Person, Field(description="Who paid.")]
    shared_by: Annotated[list[Person], Field(min_length=1, description="Whom it was for, in equal parts.")]
    kind: Kind = Kind.OTHER
    day: Annotated[date, Field(default_factory=date.today, description="When; today if you leave it out.")]


def written(context: ToolContext, expense: Expense) -> Expense:
    """Adds to the ledger. One write at its end, so that two calls at a time do not mix."""
    with _file(context).open("a", encoding="utf-8") as file:
        file.write(f"{expense.model_dump_json()}\n")
    return expense


def expenses(context: ToolContext) -> list[Expense]:
    """All of them, in the order in which they were added."""
    file = _file(context)
    if not file.exists():
        return []
    return [Expense.model_validate_json(line) for line in file.read_text("utf-8").splitlines()]


def forgotten(context: ToolContext) -> int:
    """Empties the ledger, and tells how many expenses were in it."""
    known = len(expenses(context))
    _file(context).unlink(missing_ok=True)
    return known


def _file(context: ToolContext) -> Path:
    if context.workspace is None:
        raise ValueError("The ledger needs a folder. Write `workspace: true` in toolset.yaml.")
    return context.workspace / "expenses.jsonl"
