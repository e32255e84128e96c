"""What models are told in every format alike: two calls for an example, and the rules."""

from collections.abc import Callable, Sequence
from typing import Final

from pegboard.prompts.events import ParsedCall

EXAMPLE: Final = (
    ParsedCall("tool_name", {"first": "some text", "second": 2, "third": ["a", "list"]}),
    ParsedCall("other_tool", {}),
)
RULES: Final = (
    "Use only the tools you are given and the arguments that their schemas have. Never invent a result: "
    "stop after the calls and wait for what they give. If no tool is needed, answer in plain text."
)


def example_instructions(
    with_what: str, calls_text: Callable[[Sequence[ParsedCall]], str], values: str, results: str
) -> str:
    """How to call, by example: one call, two calls, how values are written, the rules, how results come back."""
    return (
        f"To call a tool, write exactly this, with {with_what}:\n"
        f"{calls_text(EXAMPLE[:1])}\n"
        "Several calls at once are written like this:\n"
        f"{calls_text(EXAMPLE)}\n"
        f"{values} {RULES} {results}"
    )
