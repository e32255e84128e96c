"""What all formats share that write a call as a JSON object behind a marker: they differ by a few words each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pegboard.core.folded import Json
from pegboard.prompts.engines.json_calls import JsonScanner
from pegboard.prompts.engines.json_signs import JsonSigns
from pegboard.prompts.events import Called
from pegboard.prompts.shapes import ToolShape

from .format import Fed, Message
from .framing import NAMED, Frame, framed, told


def compact(value: object) -> str:
    """JSON as models are used to see it: spaces behind commas and colons, letters of every script as they are."""
    return json.dumps(value, ensure_ascii=False)


def as_function(tool: ToolShape) -> dict[str, Json]:
    """A tool as chat templates show it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
    }


@dataclass(frozen=True)
class Marked:
    name: str
    signs: JsonSigns
    aliases: tuple[str, ...] = ()
    around: tuple[str, str] = ("", "")
    """Before the first call and behind the last."""
    around_each: tuple[str, str] = ("", "")
    between: str = "\n"
    listed: bool = False
    """Calls are written as one JSON array, even a single one."""
    keys: tuple[str, str] = ("name", "arguments")
    tools_around: tuple[str, str] = ("<tools>\n", "\n</tools>")
    tools_listed: bool = False
    result_role: str = "tool"
    result_around: Frame = NAMED
    scanner_type: type[JsonScanner] = field(default=JsonScanner, repr=False)

    @property
    def thinking(self) -> tuple[tuple[str, str], ...]:
        return self.signs.thinking

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        several = self.calls_text([Called("tool_name", {"first": "value"}), Called("other_tool", {})])
        example = self.calls_text([Called("tool_name", {"first": "value", "second": 2})])
        return (
            "To call a tool, write exactly this, with the name of the tool and a JSON object of its arguments:\n"
            f"{example}\n"
            "Several calls at once are written like this:\n"
            f"{several}\n"
            "Use only the tools you are given and the arguments that their schemas have. Never invent a result: stop "
            "after the calls and wait for what they give. If no tool is needed, answer in plain text. "
            f"{self.result_rule}"
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        shown = [as_function(tool) for tool in tools]
        body = compact(shown) if self.tools_listed else "\n".join(map(compact, shown))
        return body.join(self.tools_around)

    def call_text(self, call: Called) -> str:
        name, arguments = self.keys
        return compact({name: call.name, arguments: dict(call.arguments)})

    def calls_text(self, calls: Sequence[Called]) -> str:
        if not calls:
            return ""
        texts = [self.call_text(call) for call in calls]
        if self.listed:
            return f"[{', '.join(texts)}]".join(self.around)
        return self.between.join(text.join(self.around_each) for text in texts).join(self.around)

    @property
    def result_rule(self) -> str:
        return told(self.result_around)

    def result_text(self, fed: Fed) -> str:
        return framed(fed, self.result_around)

    def results(self, results: Sequence[Fed]) -> tuple[Message, ...]:
        """One message for all of them where the format puts results into a turn of the user."""
        texts = [self.result_text(fed) for fed in results]
        if self.result_role == "user":
            return (Message("user", "\n".join(texts)),) if texts else ()
        return tuple(Message(self.result_role, text) for text in texts)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> JsonScanner:
        return self.scanner_type(self.signs, tools, in_thinking=in_thinking)


def headed(name: str, arguments: Mapping[str, Json], between: str) -> str:
    """A call whose name stands before its arguments."""
    return name + between + compact(dict(arguments))
