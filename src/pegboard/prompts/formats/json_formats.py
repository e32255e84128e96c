"""Functionary and Llama's own recipe: `<function=NAME>{…}</function>`; Functionary 3.2 writes `>>>NAME`, a line break
and the arguments, and `>>>all` before text. The prompt ends in `>>>`, so an output begins as if it stood there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import (
    RESULT_IS_DATA,
    Format,
    FormattedResult,
    JsonFormat,
    compact_json,
    headed_call,
    result_as_json,
)
from pegboard.prompts.formats.mistral import FORMAT as MISTRAL
from pegboard.prompts.formats.mistral import MistralScanner
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, THINK_MARKERS
from pegboard.prompts.scanners.json_calls import JsonScanner, JsonSyntax
from pegboard.prompts.scanners.mixed_shapes import ForeignScanner
from pegboard.prompts.tool_shape import ToolShape

# Any call in JSON by whatever marker: for models of which nobody knows what they write.

ANYTHING_SYNTAX: Final = JsonSyntax(
    openers=(
        "<tool_call>",
        "<TOOL_CALL>",
        "<toolcall>",
        "<|tool_call|>",
        "<function_call>",
        "<tool_calls>",
        "<TOOLCALL>",
        "<|python_tag|>",
        "[TOOL_CALLS]",
        "```json",
        "```tool_call",
        "```",
    ),
    closers=(
        "</tool_call>",
        "</TOOL_CALL>",
        "</toolcall>",
        "</function_call>",
        "</tool_calls>",
        "</TOOLCALL>",
        "<|im_end|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "</s>",
    ),
    weak_openers=("```json", "```tool_call", "```"),
    tails=("```",),
    thinking_markers=(("<think>", "</think>"), ("[THINK]", "[/THINK]")),
    bare_openers="{[",
    header=MISTRAL.syntax.header,
)

ANYTHING_FORMAT: Final = JsonFormat(
    name="pipeline_default",
    aliases=("any",),
    syntax=ANYTHING_SYNTAX,
    around_each=("<tool_call>\n", "\n</tool_call>"),
    result_role="user",
    result_around=("<tool_response>\n", "\n</tool_response>"),
    scanner_type=MistralScanner,
)


# Formats that write all calls of a turn as one JSON array between two markers: Jamba, Apriel, Nemotron Nano 2.

BETWEEN_MARKERS_FORMATS: Final = {
    "json_jamba": JsonFormat(
        name="json_jamba",
        syntax=JsonSyntax(openers=("<tool_calls>",), closers=("</tool_calls>",)),
        around=("<tool_calls>", "</tool_calls>"),
        as_list=True,
    ),
    "apriel": JsonFormat(
        name="apriel",
        syntax=JsonSyntax(
            openers=("<tool_calls>",),
            closers=("</tool_calls>", "<|end|>"),
            thinking_markers=(
                ("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]"),
                ("<thinking>", "</thinking>"),
            ),
            stray_markers=("[END FINAL RESPONSE]",),
        ),
        around=("<tool_calls>", "</tool_calls>"),
        as_list=True,
    ),
    "nemotron_v2": JsonFormat(
        name="nemotron_v2",
        syntax=JsonSyntax(openers=("<TOOLCALL>",), closers=("</TOOLCALL>",)),
        around=("<TOOLCALL>", "</TOOLCALL>"),
        tools_around=("<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),
        tools_as_list=True,
        as_list=True,
        result_around=("<TOOL_RESPONSE>", "</TOOL_RESPONSE>"),
    ),
}


# Cohere Command R7B and A: an array with `tool_name` and `parameters` between <|START_ACTION|> and <|END_ACTION|>.


class CohereFormat(JsonFormat):
    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        if not calls:
            return ""
        told = [
            {"tool_call_id": str(place), "tool_name": call.name, "parameters": dict(call.arguments)}
            for place, call in enumerate(calls)
        ]
        return compact_json(told).join(self.around)


COHERE_FORMAT: Final = CohereFormat(
    name="cohere",
    syntax=JsonSyntax(
        openers=("<|START_ACTION|>",),
        closers=("<|END_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
        thinking_markers=(("<|START_THINKING|>", "<|END_THINKING|>"),),
        stray_markers=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    ),
    around=("<|START_ACTION|>", "<|END_ACTION|>"),
    as_list=True,
)


# DeepSeek V3, R1 and V3.1: the name behind a marker, the arguments as JSON, in a fence (V3) or not (V3.1). Each
# reads
# the other's, since servers and models are mixed up often enough.


def special_token(words: str) -> str:
    """Its markers stand between wide bars, with low blocks for spaces."""
    return "<\uff5c" + words.replace(" ", "\u2581") + "\uff5c>"


BEGIN, END, SEPARATOR = special_token("tool call begin"), special_token("tool call end"), special_token("tool sep")
ALL_BEGIN, ALL_END = special_token("tool calls begin"), special_token("tool calls end")

DEEPSEEK_SYNTAX: Final = JsonSyntax(
    openers=(BEGIN,),
    closers=(END, ALL_END, special_token("end of sentence")),
    tails=("```",),
    stray_markers=(ALL_BEGIN,),
    header=rf"\s*(?:function\s*{SEPARATOR}\s*)?([\w.\-/]+)\s*(?:{SEPARATOR})?\s*(?:```(?:json)?)?",
)


@dataclass(frozen=True)
class DeepSeekFormat(JsonFormat):
    uses_fence: bool = False

    def call_text(self, call: ParsedCall) -> str:
        if self.uses_fence:
            fence = f"function{SEPARATOR}{call.name}\n```json\n"
            return headed_call("", call.arguments, fence) + "\n```"
        return headed_call(call.name, call.arguments, SEPARATOR)


DEEPSEEK_FORMATS: Final = {
    name: DeepSeekFormat(
        name=name,
        syntax=DEEPSEEK_SYNTAX,
        around=(ALL_BEGIN, ALL_END),
        around_each=(BEGIN, END),
        between="\n" if fenced else "",
        result_around=(special_token("tool output begin"), special_token("tool output end")),
        uses_fence=fenced,
    )
    for name, fenced in (("deepseek_v3", True), ("deepseek_v31", False))
}


# ERNIE 4.5: Hermes, with its answer between <response> tags.

ERNIE45_FORMAT: Final = JsonFormat(
    name="ernie45",
    syntax=JsonSyntax(
        openers=("<tool_call>",), closers=("</tool_call>",), stray_markers=("<response>", "</response>", "</think>")
    ),
    around_each=("<tool_call>\n", "\n</tool_call>"),
    result_around=("<tool_output>\n", "\n</tool_output>"),
)


ARROWS, TAG, ALL = ">>>", "<function=", "all\n"
_NAME: Final = re.compile(r"([\w.\-]+)\n\s*\Z")
_PART: Final = re.compile(r"[\w.\-]+(?:\n\s*)?\Z")


class FunctionaryScanner(JsonScanner):
    def __init__(self, signs: JsonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        if not in_thinking:
            self.state = self.at_name

    def open(self, word: str) -> bool:
        super().open(word)
        if word == ARROWS:
            self.state = self.at_name
        return False

    def at_name(self, text: str, place: int, end: int) -> int:
        """Behind the arrows, and at the beginning: a name and a line break, then an object; or `all` and text."""
        if text.startswith(ALL, place):
            self.emit_markup(self.take_source() + ALL)
            self.state = self.in_text
            return place + len(ALL)
        at = text.find("{", place, place + MAX_HEADER_LENGTH)
        head = text[place : at if at >= 0 else place + MAX_HEADER_LENGTH]
        found = _NAME.match(head) if at >= 0 else None
        if found is not None and self.is_known_tool(found.group(1)):
            self.source.append(head)
            self.in_list = self.is_bare = False
            self.begin_headed(found.group(1))
            return at
        if at < 0 and len(head) < MAX_HEADER_LENGTH and not self.is_final and _PART.match(head):
            return ~place
        self.treat_as_text()
        self._opening_forbidden = False
        return place


class FunctionaryFormat(JsonFormat):
    def call_text(self, call: ParsedCall) -> str:
        return headed_call(call.name, call.arguments, ">")


FUNCTIONARY_SYNTAX: Final = JsonSyntax(
    openers=(TAG,), closers=("</function>", "<|eom_id|>", "<|eot_id|>"), header=r"([\w.\-]+)>"
)

FUNCTIONARY_FORMATS: Final = {
    "functionary": FunctionaryFormat(
        name="functionary",
        syntax=JsonSyntax(openers=(TAG, ARROWS), closers=FUNCTIONARY_SYNTAX.closers, header=FUNCTIONARY_SYNTAX.header),
        around_each=(TAG, "</function>"),
        scanner_type=FunctionaryScanner,
    ),
    "llama_function_tag": FunctionaryFormat(
        name="llama_function_tag", syntax=FUNCTIONARY_SYNTAX, around_each=(TAG, "</function>"), result_role="ipython"
    ),
}


# Phi-4 mini and FireFunction 2: an array behind the word `functools`.

FUNCTOOLS_LIST_SYNTAX: Final = JsonSyntax(
    openers=("functools", "<|tool_call|>"), closers=("<|/tool_call|>",), stray_markers=("<|end|>", "<|eot_id|>")
)

FUNCTOOLS_LIST_FORMATS: Final = {
    name: JsonFormat(name=name, syntax=FUNCTOOLS_LIST_SYNTAX, around=("functools", ""), as_list=True)
    for name in ("json_phi4mini", "firefunction")
}


# GigaChat 3: an object behind <|function_call|>, or as a message of its own with the role `function call`.

GIGACHAT3_FORMAT: Final = JsonFormat(
    name="gigachat3",
    syntax=JsonSyntax(
        openers=("<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>", "function call<|role_sep|>"),
        closers=("</s>",),
        stray_markers=("<|message_sep|>",),
    ),
    around_each=("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""),
    between="",
    result_role="function result",
)


# Granite 3: a JSON array behind <|tool_call|>, which servers may swallow.

GRANITE3_FORMAT: Final = JsonFormat(
    name="granite3",
    syntax=JsonSyntax(
        openers=("<|tool_call|>", "<tool_call>"),
        closers=("</tool_call>", "<|end_of_text|>"),
        bare_openers="{[",
    ),
    around=("<|tool_call|>", ""),
    as_list=True,
    result_role="tool_response",
)


# Granite 20B for function calling: an object behind <function_call>, once for each call.

CLOSERS: Final = ("</function_call>", "<|end_of_text|>")

GRANITE_20B_FORMATS: Final = {
    "granite_20b": JsonFormat(
        name="granite_20b",
        syntax=JsonSyntax(openers=("<function_call>",), closers=CLOSERS, allows_lists=False),
        around_each=("<function_call> ", ""),
        result_role="function_response",
    ),
    "granite_function_call": JsonFormat(
        name="granite_function_call",
        syntax=JsonSyntax(openers=("<function_call>", "<|tool_call|>"), closers=CLOSERS),
        around_each=("<function_call>", "</function_call>"),
        result_role="user",
        result_around=("<function_response>", "</function_response>"),
    ),
}


# Hermes: a JSON object between <tool_call> tags. Hermes 2 and 3, Qwen 2.5 and 3, Granite 4 and others write it.

HERMES_FORMAT: Final = JsonFormat(
    name="hermes",
    syntax=JsonSyntax(
        openers=("<tool_call>", "<TOOL_CALL>", "<toolcall>", "<tool_call ", "```json", "```"),
        closers=("</tool_call>", "</TOOL_CALL>", "</toolcall>", "<|im_end|>"),
        text_closers=("</tool_call>", "</TOOL_CALL>", "</toolcall>"),
        weak_openers=("```json", "```"),
        tails=("```",),
        thinking_markers=(*THINK_MARKERS, ("<scratch_pad>", "</scratch_pad>")),
        bare_openers="{[",
        allows_inline=True,
    ),
    around_each=("<tool_call>\n", "\n</tool_call>"),
    result_role="user",
    result_around=("<tool_response>\n", "\n</tool_response>"),
    scanner_type=ForeignScanner,
)


# LongCat: Hermes in tags of its own.

HERMES_LONGCAT_FORMAT: Final = JsonFormat(
    name="hermes_longcat",
    syntax=JsonSyntax(
        openers=("<longcat_tool_call>",),
        closers=("</longcat_tool_call>",),
        thinking_markers=(("<longcat_think>", "</longcat_think>"), ("<think>", "</think>")),
    ),
    around_each=("<longcat_tool_call>\n", "\n</longcat_tool_call>"),
    result_role="user",
    result_around=("<longcat_tool_response>\n", "\n</longcat_tool_response>"),
)


# Apertus: an array of objects of one key each, which is the name of the tool: `[{"name": {…}}]`.


class ApertusFormat(JsonFormat):
    def call_text(self, call: ParsedCall) -> str:
        return compact_json({call.name: dict(call.arguments)})


JSON_APERTUS_FORMAT: Final = ApertusFormat(
    name="json_apertus",
    syntax=JsonSyntax(
        openers=("<|tools_prefix|>",),
        closers=("<|tools_suffix|>", "<|assistant_end|>"),
        thinking_markers=(("<|inner_prefix|>", "<|inner_suffix|>"), ("<think>", "</think>")),
        name_is_key=True,
    ),
    around=("<|tools_prefix|>", "<|tools_suffix|>"),
    as_list=True,
)


# InternLM 2: an object between <|action_start|><|plugin|> and <|action_end|>.

JSON_INTERNLM2_FORMAT: Final = JsonFormat(
    name="json_internlm2",
    syntax=JsonSyntax(
        openers=("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>", "<|action_start|>\n<|plugin|>"),
        closers=("<|action_end|>",),
    ),
    around_each=("<|action_start|><|plugin|>", "<|action_end|>"),
    keys=("name", "parameters"),
    result_role="environment",
)


# xLAM: a JSON array alone, in a fence, in <tool_call> tags or behind [TOOL_CALLS], as its trainers left it open.

JSON_XLAM_FORMAT: Final = JsonFormat(
    name="json_xlam",
    syntax=JsonSyntax(
        openers=("<tool_call>", "[TOOL_CALLS]", "```json", "```"),
        closers=("</tool_call>",),
        weak_openers=("```json", "```"),
        tails=("```",),
        bare_openers="{[",
    ),
    as_list=True,
)


# Kimi K2: the id of the call, which holds the name, between markers, then the arguments as JSON.

KIMI_K2_BEGIN, KIMI_K2_END, ARGUMENTS = "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"
KIMI_K2_ALL_BEGIN, KIMI_K2_ALL_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"


class KimiScanner(JsonScanner):
    def header_name(self, header: re.Match[str]) -> str | None:
        """`functions.NAME:INDEX` is an id. Without an index it is one only if there is such a tool."""
        name: str = header.group(1)
        numbered = header.group(2) is not None and not name.isdigit()
        return name if numbered or self.names.match(name).tool is not None else None


class KimiFormat(JsonFormat):
    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        texts = [
            headed_call(f"functions.{call.name}:{place}", call.arguments, ARGUMENTS).join((KIMI_K2_BEGIN, KIMI_K2_END))
            for place, call in enumerate(calls)
        ]
        return "".join(texts).join(self.around) if texts else ""


KIMI_K2_FORMAT: Final = KimiFormat(
    name="kimi_k2",
    syntax=JsonSyntax(
        openers=(KIMI_K2_BEGIN,),
        closers=(KIMI_K2_END, KIMI_K2_ALL_END, "<|tool_call_section_end|>", "<|im_end|>"),
        stray_markers=(KIMI_K2_ALL_BEGIN, "<|tool_call_section_begin|>", ARGUMENTS),
        header=rf"\s*(?:functions\.)?([\w.\-/]+?)(:\d+)?\s*{re.escape(ARGUMENTS)}",
    ),
    around=(KIMI_K2_ALL_BEGIN, KIMI_K2_ALL_END),
    scanner_type=KimiScanner,
)


# Llama 3 in JSON: `{"name": …, "parameters": {…}}`, several divided by semicolons, with or without <|python_tag|>.

_PYTHON: Final = re.compile(r"([\w\-]+)(?:\.call)?\(").match
_PYTHON_BEGUN: Final = re.compile(r"[\w.\-]+\Z").match


class LlamaScanner(JsonScanner):
    """A known tool that is called as Python behind the marker, as Llama 3.1 calls those it was trained with, is told as
    a call that is none: other Python behind the marker is meant for an interpreter, and is text."""

    def after_opener(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list:
            return super().after_opener(text, place, end)
        found = _PYTHON(text, place)
        if found is None and not self.is_final and end - place < MAX_HEADER_LENGTH and _PYTHON_BEGUN(text, place):
            return ~place
        if found is not None and self.has_tools and self.is_known_tool(found.group(1)):
            self.begin_unreadable()
            return place
        return super().after_opener(text, place, end)


class LlamaFormat(JsonFormat):
    @property
    def result_rule(self) -> str:
        return f"What comes back as a JSON object with a tool and its output {RESULT_IS_DATA}"

    def result_text(self, fed: FormattedResult) -> str:
        return result_as_json(fed)


LLAMA3_JSON_FORMAT: Final = LlamaFormat(
    name="llama3_json",
    syntax=JsonSyntax(
        openers=("<|python_tag|>", "```json", "```"),
        closers=("<|eom_id|>", "<|eot_id|>"),
        weak_openers=("```json", "```"),
        tails=("```",),
        bare_openers="{[",
        allows_inline=True,
    ),
    keys=("name", "parameters"),
    between="; ",
    result_role="ipython",
    scanner_type=LlamaScanner,
)


# JSON alone: an object with a name and arguments, several of them in an array, under whatever keys models use. It
# counts only for a known tool, since an answer may be JSON too.

PURE_JSON_SYNTAX: Final = JsonSyntax(
    openers=("```json", "```tool_call", "```tool_code", "```"),
    weak_openers=("```json", "```tool_call", "```tool_code", "```"),
    tails=("```",),
    bare_openers="{[",
)

PURE_JSON_FORMAT: Final = JsonFormat(name="json", aliases=("pure_json", "purejson"), syntax=PURE_JSON_SYNTAX)


# JSON as servers ask it of models that know no format: the calls wrapped in an object, or in a fence of Markdown.


class GenericFormat(JsonFormat):
    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        told = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
        return compact_json({"tool_calls": told}) if told else ""


class GeminiFormat(JsonFormat):
    def call_text(self, call: ParsedCall) -> str:
        return compact_json({"functionCall": {"name": call.name, "args": dict(call.arguments)}})


GENERIC_FORMATS: Final = {
    "json_generic": GenericFormat(name="json_generic", syntax=PURE_JSON_SYNTAX),
    "json_fenced": JsonFormat(name="json_fenced", syntax=PURE_JSON_SYNTAX, around_each=("```json\n", "\n```")),
    "gemini_json": GeminiFormat(name="gemini_json", syntax=PURE_JSON_SYNTAX),
}


FORMATS: Final[Mapping[str, Format]] = {
    **BETWEEN_MARKERS_FORMATS,
    "cohere": COHERE_FORMAT,
    **DEEPSEEK_FORMATS,
    "ernie45": ERNIE45_FORMAT,
    **FUNCTOOLS_LIST_FORMATS,
    **FUNCTIONARY_FORMATS,
    **GENERIC_FORMATS,
    "gigachat3": GIGACHAT3_FORMAT,
    "granite3": GRANITE3_FORMAT,
    **GRANITE_20B_FORMATS,
    "hermes": HERMES_FORMAT,
    "hermes_longcat": HERMES_LONGCAT_FORMAT,
    "json": PURE_JSON_FORMAT,
    "json_apertus": JSON_APERTUS_FORMAT,
    "json_internlm2": JSON_INTERNLM2_FORMAT,
    "json_xlam": JSON_XLAM_FORMAT,
    "kimi_k2": KIMI_K2_FORMAT,
    "llama3_json": LLAMA3_JSON_FORMAT,
    "pipeline_default": ANYTHING_FORMAT,
}
