"""What all formats share that write a call as tags: they differ by the tags."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import (
    DEFAULT_FRAME,
    Format,
    FormatMessage,
    FormattedResult,
    ResultFrame,
    as_function,
    compact_json,
    example_instructions,
    frame_result,
    frame_rule,
)
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


# dots: <invoke name="…"> with a <parameter name="…"> for each argument, in <dots_function_call>.

DOTS_FORMAT: Final = TaggedFormat(
    name="dots",
    syntax=TagSyntax(
        openers=("<dots_function_call>", "<invoke"),
        closers=("</invoke>", "</dots_function_call>"),
        call_start="<invoke",
        call="<invoke" + NAMED_CALL,
        call_close="</invoke>",
        block_close="</dots_function_call>",
        key_start="<parameter",
        key="<parameter" + NAMED_ARGUMENT,
        value_close="</parameter>",
        trim=True,
    ),
    block=("<dots_function_call>", "</dots_function_call>"),
    call=('<invoke name="{name}">', "</invoke>"),
    argument=('<parameter name="{key}">', "</parameter>"),
    between="",
)


# DeepSeek V3.2 and V4: tags with the prefix DSML, each argument with a note whether it is text or JSON.

BAR: Final = "\uff5c"
OPEN: Final = f"<{BAR}DSML{BAR}"
CLOSE: Final = f"</{BAR}DSML{BAR}"


def _dsml_format(name: str, block: str, *aliases: str) -> TaggedFormat:
    """They differ by the word for the block."""
    return TaggedFormat(
        name=name,
        aliases=aliases,
        syntax=TagSyntax(
            openers=(f"{OPEN}{block}>", f"{OPEN}invoke"),
            closers=(f"{CLOSE}invoke>", f"{CLOSE}{block}>"),
            stray_markers=(f"<{BAR}end▁of▁sentence{BAR}>",),
            call_start=f"{OPEN}invoke",
            call=OPEN + r'invoke\s+name\s*=\s*"(?P<name>[^"<>\n]*)"\s*>',
            call_close=f"{CLOSE}invoke>",
            block_close=f"{CLOSE}{block}>",
            key_start=f"{OPEN}parameter",
            key=OPEN + r'parameter\s+name\s*=\s*"(?P<key>[^"<>\n]*)"(?:\s+string\s*=\s*"(?P<text>true|false)")?\s*>',
            value_close=f"{CLOSE}parameter>",
        ),
        block=(f"{OPEN}{block}>\n", f"\n{CLOSE}{block}>"),
        call=(OPEN + 'invoke name="{name}">\n', f"{CLOSE}invoke>"),
        argument=(OPEN + 'parameter name="{key}" string="{string}">', f"{CLOSE}parameter>\n"),
        result_role="user",
        result_around=("<result>", "</result>"),
        results_around=("<function_results>\n", "\n</function_results>"),
    )


DSML_FORMATS: Final[Mapping[str, TaggedFormat]] = {
    "deepseek_v32": _dsml_format("deepseek_v32", "function_calls"),
    "deepseek_v4": _dsml_format("deepseek_v4", "tool_calls"),
}


# GLM 4.5 to 4.7, Ling 3 and Poolside: the name behind <tool_call>, then <arg_key> and <arg_value> in pairs.

KEY_TAG: Final = rf"<arg_key>(?P<key>[^<]*)</arg_key>{GAP}<arg_value>"

GLM_SYNTAX: Final = TagSyntax(
    openers=("<tool_call>",),
    closers=("</tool_call>",),
    stray_markers=("<|user|>", "<|observation|>", "<|endoftext|>"),
    call_close="</tool_call>",
    key_start="<arg_key>",
    key=KEY_TAG,
    key_close="</arg_key>",
    value_start="<arg_value>",
    value_close="</arg_value>",
)


def _glm_format(name: str, line: str, *aliases: str, signs: TagSyntax = GLM_SYNTAX) -> TaggedFormat:
    """They differ by the line breaks that their templates write between tags."""
    return TaggedFormat(
        name=name,
        aliases=aliases,
        syntax=signs,
        call=(f"<tool_call>{{name}}{line}", "</tool_call>"),
        argument=(f"<arg_key>{{key}}</arg_key>{line}<arg_value>", f"</arg_value>{line}"),
        between=line,
        result_around=("<tool_response>\n", "\n</tool_response>"),
    )


GLM_FORMATS: Final[Mapping[str, TaggedFormat]] = {
    "glm45": _glm_format("glm45", "\n", "glm46", "glm4_moe"),
    "glm47": _glm_format("glm47", "", "glm47_moe"),
    "ling3": _glm_format("ling3", "\n"),
    "poolside_v1": _glm_format("poolside_v1", "\n", signs=replace(GLM_SYNTAX, trim=True)),
}


# Hunyuan: the pairs of GLM behind <tool_sep>, all calls in one <tool_calls>. Older ones write a JSON array there.

HUNYUAN_SYNTAX: Final = TagSyntax(
    openers=("<tool_calls>", "<tool_call>"),
    closers=("</tool_call>", "</tool_calls>"),
    stray_markers=("<answer>", "</answer>"),
    call_start="<tool_call>",
    call=r"<tool_call>\s*(?P<name>[^<>\s]*)\s*<tool_sep>",
    tag_end="<tool_sep>",
    call_close="</tool_call>",
    block_close="</tool_calls>",
    key_start="<arg_key>",
    key=KEY_TAG,
    key_close="</arg_key>",
    value_start="<arg_value>",
    value_close="</arg_value>",
)


def _hunyuan_format(name: str) -> TaggedFormat:
    return TaggedFormat(
        name=name,
        syntax=HUNYUAN_SYNTAX,
        block=("<tool_calls>\n", "\n</tool_calls>"),
        call=("<tool_call>{name}<tool_sep>\n", "</tool_call>"),
        argument=("<arg_key>{key}</arg_key>\n<arg_value>", "</arg_value>\n"),
        result_around=("<tool_response>\n", "\n</tool_response>"),
    )


HUNYUAN_FORMATS: Final[Mapping[str, TaggedFormat]] = {
    "hunyuan": _hunyuan_format("hunyuan"),
    "hy_v3": _hunyuan_format("hy_v3"),
}


# Kimi K3: elements between <|open|> and <|close|>, each argument with its type.


def _open(element: str) -> str:
    return f"<|open|>{element}<|sep|>"


def _close(element: str) -> str:
    return f"<|close|>{element}<|sep|>"


KIMI_K3_FORMAT: Final = TaggedFormat(
    name="kimi_k3",
    syntax=TagSyntax(
        openers=(_open("tools"), "<|open|>call"),
        closers=(_close("call"), _close("tools"), _close("message")),
        stray_markers=(_open("response"), _close("response"), _open('message role="assistant"'), "<|end_of_msg|>"),
        thinking_markers=((_open("think"), _close("think")),),
        call_start="<|open|>call",
        call=r'<\|open\|>call\s+tool="(?P<name>[^"<>\n]*)"[^<>\n]*<\|sep\|>',
        call_close=_close("call"),
        block_close=_close("tools"),
        key_start="<|open|>argument",
        key=r'<\|open\|>argument\s+key="(?P<key>[^"<>\n]*)"(?:\s+type="(?P<kind>\w+)")?[^<>\n]*<\|sep\|>',
        tag_end="<|sep|>",
        value_close=_close("argument"),
    ),
    block=(_open("tools"), _close("tools")),
    call=(_open('call tool="{name}" index="{index}"'), _close("call")),
    argument=(_open('argument key="{key}" type="{kind}"'), _close("argument")),
    between="",
)


# MiniCPM 5: <function name="…"> with a <param name="…"> for each argument, whose text is XML or CDATA.

# Its tokenizer's mark for a space comes through now and then, and so do tags without any.
NAME_ATTRIBUTE: Final = "(?>(?:[\\s\u0120](?:[^<>]*?[\\s\u0120])?)?name\\s*+=)"

MINICPM5_FORMAT: Final = TaggedFormat(
    name="minicpm5",
    syntax=TagSyntax(
        openers=("<function",),
        closers=("</function>",),
        call_start="<function",
        call="<function" + NAME_ATTRIBUTE + NAME_REST,
        call_close="</function>",
        key_start="<param",
        key="<param(?:eter)?" + NAME_ATTRIBUTE + KEY_REST,
        value_close="</param>",
        between=("<arguments>", "</arguments>"),
        strip=True,
        cdata=True,
        entities=True,
    ),
    call=('<function name="{name}">', "</function>"),
    argument=('<param name="{key}">', "</param>"),
)


# MiniMax M2: <invoke name="…"> with a <parameter name="…"> for each argument, in <minimax:tool_call>.

MINIMAX_M2_FORMAT: Final = TaggedFormat(
    name="minimax_m2",
    syntax=TagSyntax(
        openers=("<minimax:tool_call>", "<invoke"),
        closers=("</invoke>", "</minimax:tool_call>"),
        stray_markers=("[e~[",),
        call_start="<invoke",
        call="<invoke" + NAMED_CALL,
        call_close="</invoke>",
        block_close="</minimax:tool_call>",
        key_start="<parameter",
        key="<parameter" + NAMED_ARGUMENT,
        value_close="</parameter>",
    ),
    block=("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
    call=('<invoke name="{name}">\n', "</invoke>"),
    argument=('<parameter name="{key}">', "</parameter>\n"),
    result_around=("<response>", "</response>"),
)


# Qwen3-Coder, Qwen 3.5 and 3.6, Nemotron 3 and Step 3.5: <function=name> with a <parameter=key> for each argument.

QWEN3_CODER_FORMAT: Final = TaggedFormat(
    name="qwen3_coder",
    aliases=("qwen3_xml", "nemotron_v3", "step3p5"),
    syntax=TagSyntax(
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
    ),
    block=("<tool_call>\n", "\n</tool_call>"),
    block_each=True,
    call=("<function={name}>\n", "</function>"),
    argument=("<parameter={key}>\n", "\n</parameter>\n"),
    result_role="user",
    result_around=("<tool_response>\n", "\n</tool_response>"),
)


# Seed-OSS: the tags of Qwen3-Coder inside <seed:tool_call>, with values on the line of their tags.

SEED_OSS_FORMAT: Final = TaggedFormat(
    name="seed_oss",
    syntax=TagSyntax(
        openers=("<seed:tool_call>", "<function"),
        closers=("</function>", "</seed:tool_call>"),
        stray_markers=("<seed:eos>",),
        thinking_markers=(("<seed:think>", "</seed:think>"), ("<think>", "</think>")),
        call_start="<function",
        call="<function(?:\\s+name)?" + NAME,
        call_close="</function>",
        block_close="</seed:tool_call>",
        key_start="<parameter",
        key="<parameter(?:\\s+name)?" + KEY,
        value_close="</parameter>",
        trim=True,
    ),
    block=("<seed:tool_call>\n", "\n</seed:tool_call>"),
    block_each=True,
    call=("<function={name}>\n", "</function>"),
    argument=("<parameter={key}>", "</parameter>\n"),
)


# Step 3: <steptml:invoke name="…"> with a <steptml:parameter name="…"> for each argument, among empty markers.

STEP3_BAR: Final = "\uff5c"

STEP3_FORMAT: Final = TaggedFormat(
    name="step3",
    syntax=TagSyntax(
        openers=("<steptml:invoke",),
        closers=(
            "</steptml:invoke>",
            f"<{STEP3_BAR}tool_call_end{STEP3_BAR}>",
            f"<{STEP3_BAR}tool_calls_end{STEP3_BAR}>",
        ),
        stray_markers=(
            f"<{STEP3_BAR}tool_calls_begin{STEP3_BAR}>",
            f"<{STEP3_BAR}tool_call_begin{STEP3_BAR}>",
            f"function<{STEP3_BAR}tool_sep{STEP3_BAR}>",
        ),
        call_start="<steptml:invoke",
        call="<steptml:invoke" + NAMED_CALL,
        call_close="</steptml:invoke>",
        block_close=f"<{STEP3_BAR}tool_call_end{STEP3_BAR}>",
        key_start="<steptml:parameter",
        key="<steptml:parameter" + NAMED_ARGUMENT,
        value_close="</steptml:parameter>",
        guesses_json=False,
    ),
    block=(f"<{STEP3_BAR}tool_calls_begin{STEP3_BAR}>", f"<{STEP3_BAR}tool_calls_end{STEP3_BAR}>"),
    call=(
        f"<{STEP3_BAR}tool_call_begin{STEP3_BAR}>function<{STEP3_BAR}tool_sep{STEP3_BAR}>"
        f'<steptml:invoke name="{{name}}">',
        f"</steptml:invoke><{STEP3_BAR}tool_call_end{STEP3_BAR}>",
    ),
    argument=('<steptml:parameter name="{key}">', "</steptml:parameter>"),
    between="\n",
)


FORMATS: Final[Mapping[str, Format]] = {
    **DSML_FORMATS,
    "dots": DOTS_FORMAT,
    **GLM_FORMATS,
    **HUNYUAN_FORMATS,
    "kimi_k3": KIMI_K3_FORMAT,
    "minicpm5": MINICPM5_FORMAT,
    "minimax_m2": MINIMAX_M2_FORMAT,
    "qwen3_coder": QWEN3_CODER_FORMAT,
    "seed_oss": SEED_OSS_FORMAT,
    "step3": STEP3_FORMAT,
}
