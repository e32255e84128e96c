"""The formats that write a call as tags: one engine, and a table of their tags."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import (
    DEFAULT_FRAME,
    FormatMessage,
    FormattedResult,
    ResultFrame,
    as_function,
    compact_json,
    example_instructions,
    frame_result,
    frame_rule,
)
from pegboard.prompts.scanners.messages import FramedTagScanner, FramedTagSyntax
from pegboard.prompts.scanners.tags import TagScanner, TagSyntax
from pegboard.prompts.tool_shape import ToolShape

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


# The tags that several of them share.

_BAR: Final = "\uff5c"
_DSML_OPEN: Final = f"<{_BAR}DSML{_BAR}"
_DSML_CLOSE: Final = f"</{_BAR}DSML{_BAR}"
# MiniCPM's tokenizer's mark for a space comes through now and then, and so do tags without any.
_MINICPM_NAME: Final = "(?>(?:[\\s\u0120](?:[^<>]*?[\\s\u0120])?)?name\\s*+=)"
_TOOL_RESPONSE: Final = ("<tool_response>\n", "\n</tool_response>")


def _dsml_format(name: str, block: str) -> TaggedFormat:
    """DeepSeek V3.2 and V4: tags with the prefix DSML, each argument with a note whether it is text or JSON. They
    differ by the word for the block."""
    return TaggedFormat(
        name=name,
        syntax=TagSyntax(
            openers=(f"{_DSML_OPEN}{block}>", f"{_DSML_OPEN}invoke"),
            closers=(f"{_DSML_CLOSE}invoke>", f"{_DSML_CLOSE}{block}>"),
            stray_markers=(f"<{_BAR}end▁of▁sentence{_BAR}>",),
            call_start=f"{_DSML_OPEN}invoke",
            call=_DSML_OPEN + r'invoke\s+name\s*=\s*"(?P<name>[^"<>\n]*)"\s*>',
            call_close=f"{_DSML_CLOSE}invoke>",
            block_close=f"{_DSML_CLOSE}{block}>",
            key_start=f"{_DSML_OPEN}parameter",
            key=_DSML_OPEN
            + r'parameter\s+name\s*=\s*"(?P<key>[^"<>\n]*)"(?:\s+string\s*=\s*"(?P<text>true|false)")?\s*>',
            value_close=f"{_DSML_CLOSE}parameter>",
        ),
        block=(f"{_DSML_OPEN}{block}>\n", f"\n{_DSML_CLOSE}{block}>"),
        call=(_DSML_OPEN + 'invoke name="{name}">\n', f"{_DSML_CLOSE}invoke>"),
        argument=(_DSML_OPEN + 'parameter name="{key}" string="{string}">', f"{_DSML_CLOSE}parameter>\n"),
        result_role="user",
        result_around=("<result>", "</result>"),
        results_around=("<function_results>\n", "\n</function_results>"),
    )


_GLM: Final = TagSyntax(
    openers=("<tool_call>",),
    closers=("</tool_call>",),
    stray_markers=("<|user|>", "<|observation|>", "<|endoftext|>"),
    call_close="</tool_call>",
    key_start="<arg_key>",
    key=rf"<arg_key>(?P<key>[^<]*)</arg_key>{GAP}<arg_value>",
    key_close="</arg_key>",
    value_start="<arg_value>",
    value_close="</arg_value>",
)
_HUNYUAN: Final = replace(
    _GLM,
    openers=("<tool_calls>", "<tool_call>"),
    closers=("</tool_call>", "</tool_calls>"),
    stray_markers=("<answer>", "</answer>"),
    call_start="<tool_call>",
    call=r"<tool_call>\s*(?P<name>[^<>\s]*)\s*<tool_sep>",
    tag_end="<tool_sep>",
    block_close="</tool_calls>",
)
_PAIR: Final = ("<arg_key>{key}</arg_key>\n<arg_value>", "</arg_value>\n")
_GLM45: Final = TaggedFormat(
    name="glm45",
    syntax=_GLM,
    call=("<tool_call>{name}\n", "</tool_call>"),
    argument=_PAIR,
    result_around=_TOOL_RESPONSE,
)
"""GLM 4.5 and 4.6: the name behind <tool_call>, then <arg_key> and <arg_value> in pairs."""
_HUNYUAN_FORMAT: Final = TaggedFormat(
    name="hunyuan",
    syntax=_HUNYUAN,
    block=("<tool_calls>\n", "\n</tool_calls>"),
    call=("<tool_call>{name}<tool_sep>\n", "</tool_call>"),
    argument=_PAIR,
    result_around=_TOOL_RESPONSE,
)
"""The pairs of GLM behind <tool_sep>, all calls in one <tool_calls>. Older ones write a JSON array there."""
_QWEN_CODER: Final = TagSyntax(
    openers=("<tool_call>", "<function"),
    closers=("</function>", "</tool_call>"),
    stray_markers=("<|im_end|>",),
    call_start="<function",
    call="<function(?:\\s+name)?" + NAME,
    call_close="</function>",
    block_close="</tool_call>",
    key_start="<parameter",
    key="<parameter(?:\\s+name)?" + KEY,
    value_close="</parameter>",
    trim=True,
)
_INVOKE: Final = TagSyntax(
    call_start="<invoke",
    call="<invoke" + NAMED_CALL,
    call_close="</invoke>",
    key_start="<parameter",
    key="<parameter" + NAMED_ARGUMENT,
    value_close="</parameter>",
)

_TABLE: Final = (
    # dots: <invoke name="…"> with a <parameter name="…"> for each argument, in <dots_function_call>.
    TaggedFormat(
        name="dots",
        syntax=replace(
            _INVOKE,
            openers=("<dots_function_call>", "<invoke"),
            closers=("</invoke>", "</dots_function_call>"),
            block_close="</dots_function_call>",
            trim=True,
        ),
        block=("<dots_function_call>", "</dots_function_call>"),
        call=('<invoke name="{name}">', "</invoke>"),
        argument=('<parameter name="{key}">', "</parameter>"),
        between="",
    ),
    # MiniMax M2: the same in <minimax:tool_call>.
    TaggedFormat(
        name="minimax_m2",
        syntax=replace(
            _INVOKE,
            openers=("<minimax:tool_call>", "<invoke"),
            closers=("</invoke>", "</minimax:tool_call>"),
            stray_markers=("[e~[",),
            block_close="</minimax:tool_call>",
        ),
        block=("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
        call=('<invoke name="{name}">\n', "</invoke>"),
        argument=('<parameter name="{key}">', "</parameter>\n"),
        result_around=("<response>", "</response>"),
    ),
    _dsml_format("deepseek_v32", "function_calls"),
    _dsml_format("deepseek_v4", "tool_calls"),
    # GLM, Ling and Poolside differ by the line breaks that their templates write between tags.
    _GLM45,
    replace(
        _GLM45,
        name="glm47",
        call=("<tool_call>{name}", "</tool_call>"),
        argument=("<arg_key>{key}</arg_key><arg_value>", "</arg_value>"),
        between="",
    ),
    replace(_GLM45, name="ling3"),
    replace(_GLM45, name="poolside_v1", syntax=replace(_GLM, trim=True)),
    _HUNYUAN_FORMAT,
    replace(_HUNYUAN_FORMAT, name="hy_v3"),
    # Kimi K3: elements between <|open|> and <|close|>, each argument with its type.
    TaggedFormat(
        name="kimi_k3",
        syntax=TagSyntax(
            openers=("<|open|>tools<|sep|>", "<|open|>call"),
            closers=("<|close|>call<|sep|>", "<|close|>tools<|sep|>", "<|close|>message<|sep|>"),
            stray_markers=(
                "<|open|>response<|sep|>",
                "<|close|>response<|sep|>",
                '<|open|>message role="assistant"<|sep|>',
                "<|end_of_msg|>",
            ),
            thinking_markers=(("<|open|>think<|sep|>", "<|close|>think<|sep|>"),),
            call_start="<|open|>call",
            call=r'<\|open\|>call\s+tool="(?P<name>[^"<>\n]*)"[^<>\n]*<\|sep\|>',
            call_close="<|close|>call<|sep|>",
            block_close="<|close|>tools<|sep|>",
            key_start="<|open|>argument",
            key=r'<\|open\|>argument\s+key="(?P<key>[^"<>\n]*)"(?:\s+type="(?P<kind>\w+)")?[^<>\n]*<\|sep\|>',
            tag_end="<|sep|>",
            value_close="<|close|>argument<|sep|>",
        ),
        block=("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        call=('<|open|>call tool="{name}" index="{index}"<|sep|>', "<|close|>call<|sep|>"),
        argument=('<|open|>argument key="{key}" type="{kind}"<|sep|>', "<|close|>argument<|sep|>"),
        between="",
    ),
    # MiniCPM 5: <function name="…"> with a <param name="…"> for each argument, whose text is XML or CDATA.
    TaggedFormat(
        name="minicpm5",
        syntax=TagSyntax(
            openers=("<function",),
            closers=("</function>",),
            call_start="<function",
            call="<function" + _MINICPM_NAME + NAME_REST,
            call_close="</function>",
            key_start="<param",
            key="<param(?:eter)?" + _MINICPM_NAME + KEY_REST,
            value_close="</param>",
            between=("<arguments>", "</arguments>"),
            strip=True,
            cdata=True,
            entities=True,
        ),
        call=('<function name="{name}">', "</function>"),
        argument=('<param name="{key}">', "</param>"),
    ),
    # Muse Glimmer: messages with a recipient; one to a tool holds <atem:invoke name="…"> with its parameters.
    TaggedFormat(
        name="muse_glimmer",
        syntax=FramedTagSyntax(
            openers=("<atem:function_calls>", "<atem:invoke", "<|eom|>", "<|eot|>"),
            closers=("</atem:invoke>", "</atem:function_calls>"),
            thinking_markers=(),
            call_start="<atem:invoke",
            call="<atem:invoke" + NAMED_CALL,
            call_close="</atem:invoke>",
            block_close="</atem:function_calls>",
            key_start="<atem:parameter",
            key="<atem:parameter" + NAMED_ARGUMENT,
            value_close="</atem:parameter>",
            header=r"(?:<\|start\|>\s*assistant)?\s*to=([^\s<]+)\s*<\|message\|>",
            header_start="<|start|>",
            message_ends=("<|eom|>", "<|eot|>"),
        ),
        block=("<|start|>assistant to=tools<|message|><atem:function_calls>\n", "\n</atem:function_calls><|eom|>"),
        call=('<atem:invoke name="{name}">\n', "</atem:invoke>"),
        argument=('<atem:parameter name="{key}">', "</atem:parameter>\n"),
        scanner_type=FramedTagScanner,
    ),
    # Qwen3-Coder, Qwen 3.5 and 3.6, Nemotron 3 and Step 3.5: <function=name> with a <parameter=key> for each argument.
    TaggedFormat(
        name="qwen3_coder",
        syntax=_QWEN_CODER,
        block=("<tool_call>\n", "\n</tool_call>"),
        block_each=True,
        call=("<function={name}>\n", "</function>"),
        argument=("<parameter={key}>\n", "\n</parameter>\n"),
        result_role="user",
        result_around=_TOOL_RESPONSE,
    ),
    # Seed-OSS: the tags of Qwen3-Coder inside <seed:tool_call>, with values on the line of their tags.
    TaggedFormat(
        name="seed_oss",
        syntax=replace(
            _QWEN_CODER,
            openers=("<seed:tool_call>", "<function"),
            closers=("</function>", "</seed:tool_call>"),
            stray_markers=("<seed:eos>",),
            thinking_markers=(("<seed:think>", "</seed:think>"), ("<think>", "</think>")),
            block_close="</seed:tool_call>",
        ),
        block=("<seed:tool_call>\n", "\n</seed:tool_call>"),
        block_each=True,
        call=("<function={name}>\n", "</function>"),
        argument=("<parameter={key}>", "</parameter>\n"),
    ),
    # Step 3: <steptml:invoke name="…"> with a <steptml:parameter name="…"> for each argument, among empty markers.
    TaggedFormat(
        name="step3",
        syntax=TagSyntax(
            openers=("<steptml:invoke",),
            closers=("</steptml:invoke>", f"<{_BAR}tool_call_end{_BAR}>", f"<{_BAR}tool_calls_end{_BAR}>"),
            stray_markers=(
                f"<{_BAR}tool_calls_begin{_BAR}>",
                f"<{_BAR}tool_call_begin{_BAR}>",
                f"function<{_BAR}tool_sep{_BAR}>",
            ),
            call_start="<steptml:invoke",
            call="<steptml:invoke" + NAMED_CALL,
            call_close="</steptml:invoke>",
            block_close=f"<{_BAR}tool_call_end{_BAR}>",
            key_start="<steptml:parameter",
            key="<steptml:parameter" + NAMED_ARGUMENT,
            value_close="</steptml:parameter>",
            guesses_json=False,
        ),
        block=(f"<{_BAR}tool_calls_begin{_BAR}>", f"<{_BAR}tool_calls_end{_BAR}>"),
        call=(
            f'<{_BAR}tool_call_begin{_BAR}>function<{_BAR}tool_sep{_BAR}><steptml:invoke name="{{name}}">',
            f"</steptml:invoke><{_BAR}tool_call_end{_BAR}>",
        ),
        argument=('<steptml:parameter name="{key}">', "</steptml:parameter>"),
    ),
)

FORMATS: Final[Mapping[str, TaggedFormat]] = {each.name: each for each in _TABLE}
