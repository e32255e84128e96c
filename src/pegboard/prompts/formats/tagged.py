"""What all formats share that write a call as tags: they differ by the tags."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.engines.tag_signs import TagSyntax
from pegboard.prompts.engines.tags import TagScanner
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.shapes import ToolShape

from .format import FormatMessage, FormattedResult
from .framing import DEFAULT_FRAME, ResultFrame, frame_result, frame_rule
from .marked import as_function, compact_json
from .wording import example_instructions

NAME: Final = r'\s*=\s*["\']?(?P<name>[^<>"\'\n]*)["\']?\s*>'
"""The rest of a tag that holds the name of a tool, quoted or not."""
KEY: Final = r'\s*=\s*["\']?(?P<key>[^<>"\'\n]*)["\']?\s*>'
# Atomic and possessive throughout: what does not match is given up in one pass, however long it is.
_QUOTED: Final = r"""\s*+(?P<{q}>["'])?+(?P<{group}>(?({q})[^<>"'\n]*+|[^<>"'\s]*+))["']?+[^<>]*+>"""
NAME_REST: Final = _QUOTED.format(q="name_quote", group="name")
"""The rest of a tag behind `name=`, which names a tool; other attributes may follow."""
KEY_REST: Final = _QUOTED.format(q="key_quote", group="key")
NAMED_CALL: Final = r"(?>\s(?:[^<>]*?\s)?name\s*+=)" + NAME_REST
"""The rest of a tag that has the attribute `name` among others."""
NAMED_ARGUMENT: Final = r"(?>\s(?:[^<>]*?\s)?name\s*+=)" + KEY_REST
GAP: Final = r"(?:\s|\\[nrt])*"


def json_type(value: Json) -> str:
    """The type of a value as JSON Schema names it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def _in_cdata(value: str) -> str:
    """A text as XML has it: in CDATA where it holds markup or white space at its ends."""
    if value == value.strip() and "<" not in value and "&" not in value:
        return value
    if "]]>" not in value:
        return f"<![CDATA[{value}]]>"
    said = value.replace("&", "&amp;").replace("<", "&lt;")
    head, tail = said[: len(said) - len(said.lstrip())], said[len(said.rstrip()) :]
    return _as_entities(head) + said.strip() + _as_entities(tail)


def _as_entities(space: str) -> str:
    return "".join(f"&#{ord(character)};" for character in space)


@dataclass(frozen=True)
class TaggedFormat:
    name: str
    syntax: TagSyntax
    call: tuple[str, str]
    """Before the arguments, with `{name}`, and behind them."""
    argument: tuple[str, str]
    """Before a value, with `{key}`, and `{kind}` or `{string}` where the tag tells its type; and behind it."""
    block: tuple[str, str] = ("", "")
    """Around all calls, or around each."""
    block_each: bool = False
    between: str = "\n"
    aliases: tuple[str, ...] = ()
    tools_around: tuple[str, str] = ("<tools>\n", "\n</tools>")
    result_role: str = "tool"
    result_around: ResultFrame = DEFAULT_FRAME
    results_around: tuple[str, str] = ("", "")
    """Around the results of one turn, where they share a message."""
    scanner_type: type[TagScanner] = field(default=TagScanner, repr=False)

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return self.syntax.thinking_markers

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        return example_instructions(
            "the name of the tool and one tag for each argument",
            self.calls_text,
            "Write text as it is, without quotes around it, over as many lines as it has; write numbers, true, false, "
            "lists and objects as JSON.",
            frame_rule(self.result_around),
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        return "\n".join(compact_json(as_function(tool)) for tool in tools).join(self.tools_around)

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        if not calls:
            return ""
        texts = [self.call_text(call, place) for place, call in enumerate(calls)]
        if self.block_each:
            return self.between.join(text.join(self.block) for text in texts)
        return self.between.join(texts).join(self.block)

    def call_text(self, call: ParsedCall, place: int) -> str:
        before, behind = self.call
        arguments = [self.argument_text(key, value) for key, value in call.arguments.items()]
        return before.format(name=call.name, index=place + 1) + "".join(arguments) + behind

    def argument_text(self, key: str, value: Json) -> str:
        before, behind = self.argument
        said = self.value_text(value)
        is_text = "true" if isinstance(value, str) else "false"
        return before.format(key=key, kind=json_type(value), string=is_text) + said + behind.format(key=key)

    def value_text(self, value: Json) -> str:
        if not isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if self.syntax.cdata:
            return _in_cdata(value)
        # Where a line break at each end belongs to the tags, a text that has one of its own needs theirs as well.
        inline = self.syntax.trim and not self.argument[0].endswith("\n")
        return f"\n{value}\n" if inline and (value.startswith(("\n", "\r\n")) or value.endswith("\n")) else value

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        texts = [frame_result(fed, self.result_around, *self.results_around) for fed in results]
        if not texts:
            return ()
        if self.result_role == "user" or self.results_around != ("", ""):
            return (FormatMessage(self.result_role, "\n".join(texts).join(self.results_around)),)
        return tuple(FormatMessage(self.result_role, text) for text in texts)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> TagScanner:
        return self.scanner_type(self.syntax, tools, in_thinking=in_thinking)
