"""What a format is: how tools are told to a model, how its calls are read, and how their results go back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pegboard.prompts.events import OutputEvent, ParsedCall
from pegboard.prompts.scanner import ParsedOutput, collect_output
from pegboard.prompts.shapes import ToolShape


@dataclass(frozen=True, slots=True)
class FormatMessage:
    """One message of a conversation, in a format's own words."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class FormattedResult:
    """The result of one call, to be fed back."""

    name: str
    text: str
    id: str = ""
    """Of the call it answers, where the format numbers calls."""
    is_error: bool = False


class OutputScanner(Protocol):
    """A scanner, to whoever feeds it."""

    def feed(self, text: str) -> list[OutputEvent]: ...

    def finish(self) -> list[OutputEvent]: ...


class Format(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        """What opens and closes the model's reasoning: a prompt that ends in an opener has begun it."""

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        """How to call a tool, in words for the model."""

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        """The tools as the model is used to see them."""

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        """Calls as the model would write them, for the history. Reading it back gives the calls."""

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        """The messages that tell the model what its calls gave, in their order."""

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> OutputScanner:
        """`in_thinking`: the prompt has opened the model's thinking already."""


def parse(format: Format, text: str, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> ParsedOutput:
    """A whole output at once. Feeding it in any chunks gives the same."""
    scanner = format.scanner(tools, in_thinking=in_thinking)
    return collect_output([*scanner.feed(text), *scanner.finish()])
