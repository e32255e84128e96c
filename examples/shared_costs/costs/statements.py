"""Tools that make something to send around, with a package that the manifest requires and a secret that it declares."""

import hashlib
import hmac
from typing import Annotated, Literal, TypedDict

from markdown_it import MarkdownIt

from pegboard.tools import ToolContext, tool

from .ledger import expenses
from .looking import settlement


class Statement(TypedDict):
    """A text, and a signature that only this toolset can make."""

    text: str
    signature: str


@tool(read_only=True)
def statement(
    context: ToolContext,
    format: Annotated[Literal["markdown", "html"], "Markdown for a chat, HTML for a mail."] = "markdown",
) -> Statement:
    """Write a statement of all expenses and of who owes whom, signed."""
    known = expenses(context)
    lines = ["# Shared costs", "", "| day | what | who paid | amount |", "|---|---|---|--:|"]
    lines += [f"| {each.day} | {_cell(each.what)} | {_cell(each.paid_by)} | {each.amount:.2f} |" for each in known]
    lines += ["", *(f"- {pay.debtor} owes {pay.creditor} {pay.amount:.2f}" for pay in settlement(known).payments)]
    text = "\n".join(lines).strip() + "\n"
    if format == "html":
        # What people wrote stays text: no HTML of theirs gets into a mail.
        text = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return {"text": text, "signature": _signature(text, context)}


@tool(read_only=True)
def check_statement(text: str, signature: str, context: ToolContext) -> bool:
    """Tell whether a statement was made here and has not been changed since."""
    return hmac.compare_digest(_signature(text, context).encode(), signature.encode())


def _signature(text: str, context: ToolContext) -> str:
    key = context.secrets["STATEMENT_KEY"].encode()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _cell(text: str) -> str:
    """In a table of Markdown, a bar begins the next cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
