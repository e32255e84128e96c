"""Calls as Python: a list (Llama 3.2 and 4, ToolACE, Gemma 3), in markers (LFM 2, OLMo 3), on lines, in code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.prompts.engines.python_calls import FENCE, PythonScanner, PythonSigns
from pegboard.prompts.events import Called
from pegboard.prompts.python_literals import called
from pegboard.prompts.shapes import ToolShape

from .format import Fed, Message
from .framing import NO_ORDER, as_json
from .marked import as_function, compact
from .wording import taught


@dataclass(frozen=True)
class Pythonic:
    name: str
    signs: PythonSigns
    around: tuple[str, str] = ("[", "]")
    between: str = ", "
    aliases: tuple[str, ...] = ()
    result_role: str = "tool"

    @property
    def thinking(self) -> tuple[tuple[str, str], ...]:
        return self.signs.thinking

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        return taught(
            "the name of the tool and its arguments by name",
            self.calls_text,
            "Every value is a plain Python literal: no variables, no expressions, no calls inside calls. "
            "Write nothing but the calls.",
            f"What comes back as a JSON object with a tool and its output {NO_ORDER}",
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        return "\n".join(compact(as_function(tool)) for tool in tools)

    def calls_text(self, calls: Sequence[Called]) -> str:
        if not calls:
            return ""
        return self.between.join(called(call.name, call.arguments) for call in calls).join(self.around)

    def results(self, results: Sequence[Fed]) -> tuple[Message, ...]:
        texts = [as_json(fed) for fed in results]
        if self.result_role == "user" and texts:
            return (Message("user", "\n".join(texts)),)
        return tuple(Message(self.result_role, text) for text in texts)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> PythonScanner:
        return PythonScanner(self.signs, tools, in_thinking=in_thinking)


FORMATS: Final[Mapping[str, Pythonic]] = {
    "pythonic": Pythonic(
        name="pythonic",
        aliases=("llama4", "llama4_pythonic", "toolace"),
        signs=PythonSigns(
            openers=("<|python_start|>", "<|python_tag|>"),
            closers=("<|python_end|>", "<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>"),
            bare="[",
            anywhere=True,
        ),
    ),
    "pythonic_lfm2": Pythonic(
        name="pythonic_lfm2",
        aliases=("lfm2",),
        signs=PythonSigns(openers=("<|tool_call_start|>",), closers=("<|tool_call_end|>",), strays=("<|im_end|>",)),
        around=("<|tool_call_start|>[", "]<|tool_call_end|>"),
    ),
    "pythonic_olmo3": Pythonic(
        name="pythonic_olmo3",
        aliases=("olmo3",),
        signs=PythonSigns(openers=("<function_calls>",), closers=("</function_calls>",), strays=("<|im_end|>",)),
        around=("<function_calls>", "</function_calls>"),
        between="\n",
    ),
    "pythonic_bare": Pythonic(
        name="pythonic_bare",
        signs=PythonSigns(lines=True),
        around=("", ""),
        between="\n",
        result_role="user",
    ),
    "pythonic_block": Pythonic(
        name="pythonic_block",
        signs=PythonSigns(openers=(FENCE,), closers=(FENCE,), fenced=True),
        around=(f"{FENCE}python\n", f"\n{FENCE}"),
        between="\n",
        result_role="user",
    ),
}
