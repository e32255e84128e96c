"""The formats that write a call as JSON behind a marker, or as JSON alone: one engine, and a table of their words."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import (
    DEFAULT_FRAME,
    JSON_RESULT_RULE,
    RULES,
    FormatMessage,
    FormattedResult,
    ResultFrame,
    as_function,
    compact_json,
    frame_result,
    frame_rule,
    result_as_json,
)
from pegboard.prompts.scanner import THINK_MARKERS
from pegboard.prompts.scanners.json_calls import JsonScanner, JsonSyntax
from pegboard.prompts.scanners.json_variants import (
    FUNCTIONARY_ARROWS,
    MISTRAL_ARGUMENTS,
    MISTRAL_MARKER,
    FunctionaryScanner,
    KimiScanner,
    LlamaScanner,
    MistralScanner,
)
from pegboard.prompts.scanners.messages import InklingScanner
from pegboard.prompts.scanners.mixed_shapes import ForeignScanner
from pegboard.prompts.tool_shape import ToolShape


@dataclass(frozen=True)
class JsonFormat:
    name: str
    syntax: JsonSyntax
    around: tuple[str, str] = ("", "")
    """Before the first call and behind the last."""
    around_each: tuple[str, str] = ("", "")
    between: str = "\n"
    as_list: bool = False
    """Calls are written as one JSON array, even a single one."""
    call: str = '{{"name": {quoted_name}, "arguments": {arguments}}}'
    """One call: its `{name}`, or `{quoted_name}` as JSON, its `{arguments}` as JSON, and its `{place}` in the turn."""
    tools_around: tuple[str, str] = ("<tools>\n", "\n</tools>")
    tools_as_list: bool = False
    result_role: str = "tool"
    result_around: ResultFrame | None = DEFAULT_FRAME
    """None: a result is a JSON object."""
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
            f"{RULES} {JSON_RESULT_RULE if self.result_around is None else frame_rule(self.result_around)}"
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        shown = [as_function(tool) for tool in tools]
        body = compact_json(shown) if self.tools_as_list else "\n".join(map(compact_json, shown))
        return body.join(self.tools_around)

    def call_text(self, call: ParsedCall, place: int) -> str:
        name, arguments = call.name, compact_json(dict(call.arguments))
        return self.call.format(name=name, quoted_name=compact_json(name), arguments=arguments, place=place)

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        if not calls:
            return ""
        texts = [self.call_text(call, place) for place, call in enumerate(calls)]
        if self.as_list:
            return f"[{', '.join(texts)}]".join(self.around)
        return self.between.join(text.join(self.around_each) for text in texts).join(self.around)

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        """One message for all of them where the format puts results into a turn of the user."""
        frame = self.result_around
        texts = [result_as_json(fed) if frame is None else frame_result(fed, frame) for fed in results]
        if self.result_role == "user":
            return (FormatMessage("user", "\n".join(texts)),) if texts else ()
        return tuple(FormatMessage(self.result_role, text) for text in texts)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> JsonScanner:
        return self.scanner_type(self.syntax, tools, in_thinking=in_thinking)


# The words that several of them share.

_FENCES: Final = ("```json", "```")
_PARAMETERS_CALL: Final = '{{"name": {quoted_name}, "parameters": {arguments}}}'
_MISTRAL_HEADER: Final = r"([\w.\-/]+)\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\])?"
_FUNCTIONARY: Final = JsonSyntax(
    openers=("<function=",), closers=("</function>", "<|eom_id|>", "<|eot_id|>"), header=r"([\w.\-]+)>"
)
_FUNCTOOLS: Final = JsonSyntax(
    openers=("functools", "<|tool_call|>"), closers=("<|/tool_call|>",), stray_markers=("<|end|>", "<|eot_id|>")
)
_GRANITE_CLOSERS: Final = ("</function_call>", "<|end_of_text|>")
_KIMI_ARGUMENTS: Final = "<|tool_call_argument_begin|>"
_PURE_JSON: Final = JsonSyntax(
    openers=("```json", "```tool_call", "```tool_code", "```"),
    weak_openers=("```json", "```tool_call", "```tool_code", "```"),
    tails=("```",),
    bare_openers="{[",
)
"""It counts only for a known tool, since an answer may be JSON too."""


def _deepseek_token(words: str) -> str:
    """Its markers stand between wide bars, with low blocks for spaces."""
    return "<\uff5c" + words.replace(" ", "\u2581") + "\uff5c>"


_DEEPSEEK_SEPARATOR: Final = _deepseek_token("tool sep")
_DEEPSEEK: Final = JsonSyntax(
    openers=(_deepseek_token("tool call begin"),),
    closers=tuple(map(_deepseek_token, ("tool call end", "tool calls end", "end of sentence"))),
    tails=("```",),
    stray_markers=(_deepseek_token("tool calls begin"),),
    header=rf"\s*(?:function\s*{_DEEPSEEK_SEPARATOR}\s*)?([\w.\-/]+)\s*(?:{_DEEPSEEK_SEPARATOR})?\s*(?:```(?:json)?)?",
)
_DEEPSEEK_AROUND: Final = (_deepseek_token("tool calls begin"), _deepseek_token("tool calls end"))
_DEEPSEEK_AROUND_EACH: Final = (_deepseek_token("tool call begin"), _deepseek_token("tool call end"))
_DEEPSEEK_FRAME: Final = (_deepseek_token("tool output begin"), _deepseek_token("tool output end"))

_TABLE: Final = (
    # All calls of a turn as one array between two markers.
    JsonFormat(
        name="json_jamba",
        syntax=JsonSyntax(openers=("<tool_calls>",), closers=("</tool_calls>",)),
        around=("<tool_calls>", "</tool_calls>"),
        as_list=True,
    ),
    JsonFormat(
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
    JsonFormat(
        name="nemotron_v2",
        syntax=JsonSyntax(openers=("<TOOLCALL>",), closers=("</TOOLCALL>",)),
        around=("<TOOLCALL>", "</TOOLCALL>"),
        tools_around=("<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),
        tools_as_list=True,
        as_list=True,
        result_around=("<TOOL_RESPONSE>", "</TOOL_RESPONSE>"),
    ),
    # Cohere Command R7B and A.
    JsonFormat(
        name="cohere",
        syntax=JsonSyntax(
            openers=("<|START_ACTION|>",),
            closers=("<|END_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
            thinking_markers=(("<|START_THINKING|>", "<|END_THINKING|>"),),
            stray_markers=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
        ),
        around=("<|START_ACTION|>", "<|END_ACTION|>"),
        as_list=True,
        call='{{"tool_call_id": "{place}", "tool_name": {quoted_name}, "parameters": {arguments}}}',
    ),
    # DeepSeek V3, R1 and V3.1: the name behind a marker, the arguments as JSON, in a fence (V3) or not (V3.1). Each
    # reads the other's, since servers and models are mixed up often enough.
    JsonFormat(
        name="deepseek_v3",
        syntax=_DEEPSEEK,
        around=_DEEPSEEK_AROUND,
        around_each=_DEEPSEEK_AROUND_EACH,
        call=f"function{_DEEPSEEK_SEPARATOR}{{name}}\n```json\n{{arguments}}\n```",
        result_around=_DEEPSEEK_FRAME,
    ),
    JsonFormat(
        name="deepseek_v31",
        syntax=_DEEPSEEK,
        around=_DEEPSEEK_AROUND,
        around_each=_DEEPSEEK_AROUND_EACH,
        between="",
        call=f"{{name}}{_DEEPSEEK_SEPARATOR}{{arguments}}",
        result_around=_DEEPSEEK_FRAME,
    ),
    # ERNIE 4.5: Hermes, with its answer between <response> tags.
    JsonFormat(
        name="ernie45",
        syntax=JsonSyntax(
            openers=("<tool_call>",), closers=("</tool_call>",), stray_markers=("<response>", "</response>", "</think>")
        ),
        around_each=("<tool_call>\n", "\n</tool_call>"),
        result_around=("<tool_output>\n", "\n</tool_output>"),
    ),
    # Functionary, and Llama's own recipe.
    JsonFormat(
        name="functionary",
        syntax=JsonSyntax(
            openers=(*_FUNCTIONARY.openers, FUNCTIONARY_ARROWS),
            closers=_FUNCTIONARY.closers,
            header=_FUNCTIONARY.header,
        ),
        around_each=("<function=", "</function>"),
        call="{name}>{arguments}",
        scanner_type=FunctionaryScanner,
    ),
    JsonFormat(
        name="llama_function_tag",
        syntax=_FUNCTIONARY,
        around_each=("<function=", "</function>"),
        call="{name}>{arguments}",
        result_role="ipython",
    ),
    # Phi-4 mini and FireFunction 2: an array behind the word `functools`.
    JsonFormat(name="json_phi4mini", syntax=_FUNCTOOLS, around=("functools", ""), as_list=True),
    JsonFormat(name="firefunction", syntax=_FUNCTOOLS, around=("functools", ""), as_list=True),
    # GigaChat 3: an object behind <|function_call|>, or as a message of its own with the role `function call`.
    JsonFormat(
        name="gigachat3",
        syntax=JsonSyntax(
            openers=("<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>", "function call<|role_sep|>"),
            closers=("</s>",),
            stray_markers=("<|message_sep|>",),
        ),
        around_each=("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""),
        between="",
        result_role="function result",
    ),
    # Granite 3: an array behind <|tool_call|>, which servers may swallow.
    JsonFormat(
        name="granite3",
        syntax=JsonSyntax(
            openers=("<|tool_call|>", "<tool_call>"),
            closers=("</tool_call>", "<|end_of_text|>"),
            bare_openers="{[",
        ),
        around=("<|tool_call|>", ""),
        as_list=True,
        result_role="tool_response",
    ),
    # Granite 20B for function calling: an object behind <function_call>, once for each call.
    JsonFormat(
        name="granite_20b",
        syntax=JsonSyntax(openers=("<function_call>",), closers=_GRANITE_CLOSERS, allows_lists=False),
        around_each=("<function_call> ", ""),
        result_role="function_response",
    ),
    JsonFormat(
        name="granite_function_call",
        syntax=JsonSyntax(openers=("<function_call>", "<|tool_call|>"), closers=_GRANITE_CLOSERS),
        around_each=("<function_call>", "</function_call>"),
        result_role="user",
        result_around=("<function_response>", "</function_response>"),
    ),
    # Hermes 2 and 3, Qwen 2.5 and 3, Granite 4 and others: an object between <tool_call> tags.
    JsonFormat(
        name="hermes",
        syntax=JsonSyntax(
            openers=("<tool_call>", "<TOOL_CALL>", "<toolcall>", "<tool_call ", *_FENCES),
            closers=("</tool_call>", "</TOOL_CALL>", "</toolcall>", "<|im_end|>"),
            text_closers=("</tool_call>", "</TOOL_CALL>", "</toolcall>"),
            weak_openers=_FENCES,
            tails=("```",),
            thinking_markers=(*THINK_MARKERS, ("<scratch_pad>", "</scratch_pad>")),
            bare_openers="{[",
            allows_inline=True,
        ),
        around_each=("<tool_call>\n", "\n</tool_call>"),
        result_role="user",
        result_around=("<tool_response>\n", "\n</tool_response>"),
        scanner_type=ForeignScanner,
    ),
    # LongCat: Hermes in tags of its own.
    JsonFormat(
        name="hermes_longcat",
        syntax=JsonSyntax(
            openers=("<longcat_tool_call>",),
            closers=("</longcat_tool_call>",),
            thinking_markers=(("<longcat_think>", "</longcat_think>"), ("<think>", "</think>")),
        ),
        around_each=("<longcat_tool_call>\n", "\n</longcat_tool_call>"),
        result_role="user",
        result_around=("<longcat_tool_response>\n", "\n</longcat_tool_response>"),
    ),
    # Inkling: messages by kind of content; one that invokes a tool holds an object with its name and its arguments.
    JsonFormat(
        name="inkling",
        syntax=JsonSyntax(
            openers=("<|content_invoke_tool_json|>", InklingScanner.AUTHOR_MARKER),
            closers=("<|end_message|>", "<|content_model_end_sampling|>"),
            stray_markers=("<|content_text|>", "<|content_invoke_tool_text|>", "<|content_tool_error|>"),
            thinking_markers=(("<|content_thinking|>", "<|end_message|>"),),
        ),
        around_each=("<|message_model|><|content_invoke_tool_json|>", "<|end_message|>"),
        between="",
        call='{{"name": {quoted_name}, "args": {arguments}}}',
        scanner_type=InklingScanner,
    ),
    # Apertus: an array of objects of one key each, which is the name of the tool.
    JsonFormat(
        name="json_apertus",
        syntax=JsonSyntax(
            openers=("<|tools_prefix|>",),
            closers=("<|tools_suffix|>", "<|assistant_end|>"),
            thinking_markers=(("<|inner_prefix|>", "<|inner_suffix|>"), ("<think>", "</think>")),
            name_is_key=True,
        ),
        around=("<|tools_prefix|>", "<|tools_suffix|>"),
        as_list=True,
        call="{{{quoted_name}: {arguments}}}",
    ),
    # InternLM 2: an object between <|action_start|><|plugin|> and <|action_end|>.
    JsonFormat(
        name="json_internlm2",
        syntax=JsonSyntax(
            openers=("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>", "<|action_start|>\n<|plugin|>"),
            closers=("<|action_end|>",),
        ),
        around_each=("<|action_start|><|plugin|>", "<|action_end|>"),
        call=_PARAMETERS_CALL,
        result_role="environment",
    ),
    # xLAM: an array alone, in a fence, in <tool_call> tags or behind [TOOL_CALLS], as its trainers left it open.
    JsonFormat(
        name="json_xlam",
        syntax=JsonSyntax(
            openers=("<tool_call>", "[TOOL_CALLS]", *_FENCES),
            closers=("</tool_call>",),
            weak_openers=_FENCES,
            tails=("```",),
            bare_openers="{[",
        ),
        as_list=True,
    ),
    # Kimi K2: an id with the name, then the arguments.
    JsonFormat(
        name="kimi_k2",
        syntax=JsonSyntax(
            openers=("<|tool_call_begin|>",),
            closers=(
                "<|tool_call_end|>",
                "<|tool_calls_section_end|>",
                "<|tool_call_section_end|>",
                "<|im_end|>",
            ),
            stray_markers=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", _KIMI_ARGUMENTS),
            header=rf"\s*(?:functions\.)?([\w.\-/]+?)(:\d+)?\s*{re.escape(_KIMI_ARGUMENTS)}",
        ),
        around=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        around_each=("<|tool_call_begin|>", "<|tool_call_end|>"),
        between="",
        call=f"functions.{{name}}:{{place}}{_KIMI_ARGUMENTS}{{arguments}}",
        scanner_type=KimiScanner,
    ),
    # Llama 3: objects divided by semicolons, with or without <|python_tag|>.
    JsonFormat(
        name="llama3_json",
        syntax=JsonSyntax(
            openers=("<|python_tag|>", *_FENCES),
            closers=("<|eom_id|>", "<|eot_id|>"),
            weak_openers=_FENCES,
            tails=("```",),
            bare_openers="{[",
            allows_inline=True,
        ),
        between="; ",
        call=_PARAMETERS_CALL,
        result_role="ipython",
        result_around=None,
        scanner_type=LlamaScanner,
    ),
    JsonFormat(
        name="mistral",
        syntax=JsonSyntax(
            openers=(MISTRAL_MARKER, MISTRAL_ARGUMENTS),
            closers=("</s>",),
            thinking_markers=(("[THINK]", "[/THINK]"), ("<think>", "</think>")),
            bare_openers="{[",
            allows_inline=True,
            header=_MISTRAL_HEADER,
        ),
        around_each=(MISTRAL_MARKER, ""),
        between="",
        call=f"{{name}}{MISTRAL_ARGUMENTS}{{arguments}}",
        tools_around=("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        tools_as_list=True,
        result_around=("[TOOL_RESULTS]{name}[TOOL_CONTENT]", "[/TOOL_RESULTS]"),
        scanner_type=MistralScanner,
    ),
    # JSON alone: an object, several of them in an array, under whatever keys models use.
    JsonFormat(name="json", syntax=_PURE_JSON),
    # JSON as servers ask it of models that know no format: the calls wrapped in an object, or in a fence of Markdown.
    JsonFormat(name="json_generic", syntax=_PURE_JSON, around=('{"tool_calls": ', "}"), as_list=True),
    JsonFormat(name="json_fenced", syntax=_PURE_JSON, around_each=("```json\n", "\n```")),
    JsonFormat(
        name="gemini_json",
        syntax=_PURE_JSON,
        call='{{"functionCall": {{"name": {quoted_name}, "args": {arguments}}}}}',
    ),
    # Any call in JSON by whatever marker: for models of which nobody knows what they write.
    JsonFormat(
        name="pipeline_default",
        syntax=JsonSyntax(
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
            header=_MISTRAL_HEADER,
        ),
        around_each=("<tool_call>\n", "\n</tool_call>"),
        result_role="user",
        result_around=("<tool_response>\n", "\n</tool_response>"),
        scanner_type=MistralScanner,
    ),
)

FORMATS: Final[Mapping[str, JsonFormat]] = {each.name: each for each in _TABLE}
