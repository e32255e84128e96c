"""What all formats share that write a call as a JSON object behind a marker: they differ by a few words each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pegboard.core.folded import Json
from pegboard.prompts.engines.json_calls import JsonScanner
from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.shapes import ToolShape

from .format import FormatMessage, FormattedResult
from .framing import DEFAULT_FRAME, ResultFrame, frame_result, frame_rule


def compact_json(value: object) -> str:
    """JSON as models are used to see it: spaces behind commas and colons, letters of every script as they are."""
    return json.dumps(value, ensure_ascii=False)


def as_function(tool: ToolShape) -> dict[str, Json]:
    """A tool as chat templates show it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
    }


@dataclass(frozen=True)
class JsonFormat:
    name: str
    syntax: JsonSyntax
    aliases: tuple[str, ...] = ()
    around: tuple[str, str] = ("", "")
    """Before the first call and behind the last."""
    around_each: tuple[str, str] = ("", "")
    between: str = "\n"
    as_list: bool = False
    """Calls are written as one JSON array, even a single one."""
    keys: tuple[str, str] = ("name", "arguments")
    tools_around: tuple[str, str] = ("<tools>\n", "\n</tools>")
    tools_as_list: bool = False
    result_role: str = "tool"
    result_around: ResultFrame = DEFAULT_FRAME
    scanner_type: type[JsonScanner] = field(default=JsonScanner, repr=False)

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return self.syntax.thinking_markers

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        several = self.calls_text([ParsedCall("tool_name", {"first": "value"}), ParsedCall("other_tool", {})])
        example = self.calls_text([ParsedCall("tool_name", {"first": "value", "second": 2})])
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
        body = compact_json(shown) if self.tools_as_list else "\n".join(map(compact_json, shown))
        return body.join(self.tools_around)

    def call_text(self, call: ParsedCall) -> str:
        name, arguments = self.keys
        return compact_json({name: call.name, arguments: dict(call.arguments)})

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        if not calls:
            return ""
        texts = [self.call_text(call) for call in calls]
        if self.as_list:
            return f"[{', '.join(texts)}]".join(self.around)
        return self.between.join(text.join(self.around_each) for text in texts).join(self.around)

    @property
    def result_rule(self) -> str:
        return frame_rule(self.result_around)

    def result_text(self, fed: FormattedResult) -> str:
        return frame_result(fed, self.result_around)

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        """One message for all of them where the format puts results into a turn of the user."""
        texts = [self.result_text(fed) for fed in results]
        if self.result_role == "user":
            return (FormatMessage("user", "\n".join(texts)),) if texts else ()
        return tuple(FormatMessage(self.result_role, text) for text in texts)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> JsonScanner:
        return self.scanner_type(self.syntax, tools, in_thinking=in_thinking)


def headed_call(name: str, arguments: Mapping[str, Json], between: str) -> str:
    """A call whose name stands before its arguments."""
    return name + between + compact_json(dict(arguments))
