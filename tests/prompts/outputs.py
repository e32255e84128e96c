"""Outputs of models in the formats that write tags, Python or messages, with what they hold. All of them made up."""

# Outputs stand as models write them, on as long a line as they take.
# ruff: noqa: E501

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pegboard.core.json.values import Json
from pegboard.prompts.tool_shape import ToolShape

FORECAST = ToolShape(
    "forecast",
    "The weather of the next days.",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "hourly": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"$ref": "#/$defs/place"},
            "limit": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "required": ["city"],
        "$defs": {"place": {"type": "object", "properties": {"zip": {"type": "string"}, "floor": {"type": "integer"}}}},
    },
)
WRITE = ToolShape(
    "write_file",
    "Writes a file.",
    {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
)
NOW = ToolShape("now", "The time.", {"type": "object", "properties": {}})
TOOLS = (FORECAST, WRITE, NOW)


@dataclass(frozen=True)
class Output:
    format: str
    text: str
    calls: Sequence[tuple[str, Mapping[str, Json]]] = ()
    said: str = ""
    thought: str = ""
    broken: int = 0
    recovered: bool = False
    repaired: bool = False
    in_thinking: bool = False
    tools: Sequence[ToolShape] = field(default=TOOLS, repr=False)


def forecast(**arguments: Json) -> tuple[str, Mapping[str, Json]]:
    return "forecast", arguments


def write(path: str, content: str) -> tuple[str, Mapping[str, Json]]:
    return "write_file", {"path": path, "content": content}


BAR = "\uff5c"
DSML = f"{BAR}DSML{BAR}"
MM = "]<]minimax[>["
TAGS_IN_TEXT = "see </parameter> and <parameter=x> there"

QWEN = [
    Output(
        "qwen3_coder",
        "I look.\n<tool_call>\n<function=forecast>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
        "</function>\n</tool_call>\nOne moment.",
        [forecast(city="Bern", days=3)],
        said="I look.\nOne moment.",
    ),
    Output(
        "qwen3_coder",
        f"<tool_call><function=write_file><parameter=path>a.md</parameter>\n<parameter=content>\n\n{TAGS_IN_TEXT}\n"
        "</parameter></function></tool_call>",
        [write("a.md", f"\n{TAGS_IN_TEXT}")],
    ),
    Output("qwen3_coder", "I call <tool_call>\n<func", said="I call ", broken=1),
    Output("qwen3_coder", "<function=now></function>\n</tool_call>", [("now", {})]),
    Output(
        "qwen3_coder",
        "<tool_call>\n<function=forecast>\n<parameter=city>\nBern\n</parameter>\n",
        [forecast(city="Bern")],
        recovered=True,
        repaired=True,
    ),
    Output("qwen3_coder", "<tool_call>\n<function=forecast>\n<parameter=city>\nBer", broken=1),
    Output(
        "qwen3_coder",
        "<tool_call>\n<function=forecast>\n<parameter=city>\nBern\n</parameter>\n</tool_call> ok",
        [forecast(city="Bern")],
        said="ok",
        repaired=True,
    ),
    Output(
        "qwen3_coder",
        '<tool_call>{"name": "forecast", "arguments": {"city": "Bern"}}</tool_call>',
        [forecast(city="Bern")],
        repaired=True,
    ),
    Output(
        "qwen3_coder",
        "<tool_call><function=forecast><parameter=city>A</parameter><parameter=city>B</parameter></function></tool_call>.",
        said=".",
        broken=1,
    ),
    Output(
        "qwen3_coder",
        "Write <function> or <functional> code, a <tool_call> is no call.",
        said=("Write <function> or <functional> code, a <tool_call> is no call."),
    ),
    Output(
        "qwen3_coder",
        "hm, I call</think><tool_call><function=now></function></tool_call>",
        [("now", {})],
        thought="hm, I call",
        in_thinking=True,
    ),
    Output(
        "qwen3_coder",
        "<tool_call><function=forecast>\n<parameter=city>\nBern\n<parameter=days>\n3\n</parameter>\n</function></tool_call>",
        [forecast(city="Bern", days=3)],
        repaired=True,
    ),
    Output(
        "qwen3_coder",
        "<tool_call><function=write_file><parameter=content>write\n<parameter=path> first</parameter>\n"
        "<parameter=path>a</parameter></function></tool_call>",
        [write("a", "write\n<parameter=path> first")],
    ),
    Output(
        "qwen3_coder",
        '<tool_call><function=forecast>{"city": "</function>", "days": 3}</function></tool_call>!',
        [forecast(city="</function>", days=3)],
        said="!",
        repaired=True,
    ),
    Output(
        "qwen3_coder",
        "<tool_call><function=forecast>\n<tool_call><function=now></function></tool_call>",
        [("now", {})],
        broken=1,
    ),
    Output(
        "seed_oss",
        "<seed:think>hm</seed:think><seed:tool_call>\n<function=forecast>\n<parameter=city>Bern</parameter>\n"
        "<parameter=hourly>true</parameter>\n</function>\n</seed:tool_call>",
        [forecast(city="Bern", hourly=True)],
        thought="hm",
    ),
]
GLM = [
    Output(
        "glm45",
        "Sure.\n<tool_call>forecast\n<arg_key>city</arg_key>\n<arg_value> Bern </arg_value>\n<arg_key>tags</arg_key>\n"
        '<arg_value>["a", "b"]</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>',
        [forecast(city=" Bern ", tags=["a", "b"]), ("now", {})],
        said="Sure.\n",
    ),
    Output(
        "glm47",
        "<tool_call>forecast<arg_key>city</arg_key><arg_value>Bern</arg_value><arg_key>limit</arg_key>"
        "<arg_value>null</arg_value></tool_call>",
        [forecast(city="Bern", limit=None)],
    ),
    Output(
        "glm47",
        '<tool_call>forecast\\n<arg_key>tags</arg_key>\\n<arg_value>[\\"a\\"]</arg_value>\\n</tool_call>',
        [forecast(tags=["a"])],
        repaired=True,
    ),
    Output(
        "glm47", "<tool_call>forecast<arg_key>city</arg_key></tool_call>", [forecast()], repaired=True, recovered=True
    ),
    Output("glm47", "a <tool_call>is what I would write</tool_call>", said="a <tool_call>is what I would write"),
    Output("glm47", "I call <tool_call>fore", said="I call ", broken=1),
    Output("ling3", "<tool_call>now</tool_call>", [("now", {})]),
    Output("poolside_v1", "<tool_call><arg_key>city</arg_key><arg_value>x</arg_value></tool_call>", broken=1),
    Output(
        "hy_v3",
        "<tool_calls>\n<tool_call>forecast<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n</tool_call>\n"
        "<tool_call>now<tool_sep></tool_call>\n</tool_calls>",
        [forecast(city="Bern"), ("now", {})],
    ),
    Output(
        "hunyuan",
        '<tool_calls>[{"name": "forecast", "arguments": {"city": "Bern"}}, {"name": "now", "arguments": {}}]</tool_calls>',
        [forecast(city="Bern"), ("now", {})],
        repaired=True,
    ),
]
INVOKES = [
    Output(
        "deepseek_v32",
        f'<{DSML}function_calls>\n<{DSML}invoke name="forecast">\n<{DSML}parameter name="city" string="true">7</{DSML}parameter>'
        f'\n<{DSML}parameter name="days" string="false">7</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}function_calls>',
        [forecast(city="7", days=7)],
    ),
    Output(
        "deepseek_v4",
        f'Look:\n<{DSML}invoke name="other">\n<{DSML}parameter name="a" string="true">1</{DSML}parameter>\n'
        f'<{DSML}parameter name="b" string="false">[1]</{DSML}parameter>\n</{DSML}invoke>',
        [("other", {"a": "1", "b": [1]})],
        said="Look:\n",
    ),
    Output(
        "minimax_m2",
        '<minimax:tool_call>\n<invoke name="forecast">\n<parameter name="city">Bern</parameter>\n'
        "<parameter name=\"where\">{'zip': '3011'}</parameter>\n</invoke>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
        [forecast(city="Bern", where={"zip": "3011"}), ("now", {})],
        repaired=True,
    ),
    Output(
        "minimax_m3",
        f'<mm:think>hm</mm:think>{MM}<tool_call>\n{MM}<invoke name="forecast">{MM}<city>Bern{MM}</city>{MM}<where>{MM}<zip>3011'
        f"{MM}</zip>{MM}<floor>2{MM}</floor>{MM}</where>{MM}<tags>{MM}<item>a{MM}</item>{MM}<item>7{MM}</item>{MM}</tags>"
        f"{MM}</invoke>\n{MM}</tool_call>",
        [forecast(city="Bern", where={"zip": "3011", "floor": 2}, tags=["a", "7"])],
        thought="hm",
    ),
    Output(
        "minimax_m3",
        f'{MM}<tool_call>{MM}<invoke name="forecast">{MM}<where>{MM}<city>Bern{MM}</city>{MM}</where>{MM}</invoke>{MM}</tool_call>',
        [forecast(where={"city": "Bern"})],
    ),
    Output(
        "minimax_m3",
        f'{MM}<tool_call>{MM}<invoke name="forecast">{MM}<where>{MM}<where>{MM}<where>a{MM}</where>{MM}<b>c{MM}</b>{MM}</where>{MM}<b>'
        f"{MM}</b>{MM}</where>{MM}<city>Bern{MM}</city>{MM}</invoke>{MM}</tool_call>",
        [forecast(where={"where": {"where": "a", "b": "c"}, "b": ""}, city="Bern")],
    ),
    Output(
        "minimax_m3",
        f'{MM}<tool_call>{MM}<invoke name="forecast">{MM}<city>Bern{MM}</town>{MM}</invoke>{MM}</tool_call>',
        broken=1,
    ),
    Output(
        "dots",
        '<dots_function_call><invoke name="forecast"><parameter name="city">Bern</parameter></invoke></dots_function_call>'
        '<dots_function_call>{"name": "now", "arguments": {}}</dots_function_call>',
        [forecast(city="Bern"), ("now", {})],
        repaired=True,
    ),
    Output(
        "step3",
        f'<{BAR}tool_calls_begin{BAR}><{BAR}tool_call_begin{BAR}>function<{BAR}tool_sep{BAR}><steptml:invoke name="other">'
        f'<steptml:parameter name="n">42</steptml:parameter></steptml:invoke><{BAR}tool_call_end{BAR}><{BAR}tool_calls_end{BAR}>',
        [("other", {"n": "42"})],
    ),
    Output(
        "minicpm5",
        '<function name="write_file"><param name="path">a</param><param name="content"><![CDATA[ <b>\n ]]></param></function>'
        '<functionname="now"></function>',
        [write("a", " <b>\n "), ("now", {})],
    ),
    Output(
        "kimi_k3",
        "hm<|close|>think<|sep|><|open|>response<|sep|>On it.<|close|>response<|sep|><|open|>tools<|sep|>"
        '<|open|>call tool="forecast" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>3<|close|>argument<|sep|>'
        '<|open|>argument key="extra" type="number"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>'
        "<|close|>message<|sep|>",
        [forecast(city="3", extra=3)],
        said="On it.",
        thought="hm",
        in_thinking=True,
    ),
]
_ATEM = '<atem:function_calls>\n<atem:invoke name="now.now">\n</atem:invoke>\n</atem:function_calls>'
MESSAGES = [
    Output(
        "muse_glimmer",
        f" to=self<|message|>I could write {_ATEM}.<|eom|><|start|>assistant to=now.now<|message|>{_ATEM}<|eom|>"
        "<|start|>assistant to=user<|message|>It is late.<|eot|>",
        [("now", {})],
        said="It is late.",
        thought=f"I could write {_ATEM}.",
    ),
    Output("muse_glimmer", f"You write {_ATEM}", said=f"You write {_ATEM}"),
    Output("muse_glimmer", "to= is no header", said="to= is no header"),
    Output(
        "harmony",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.forecast <|constrain|>json"
        '<|message|>{"city": "<|call|>", "days": "3"}<|call|><|start|>assistant<|channel|>final<|message|>Done.<|return|>',
        [forecast(city="<|call|>", days=3)],
        said="Done.",
        thought="hm",
        repaired=True,
    ),
    Output("harmony", " to=functions.now<|channel|>analysis<|message|>{}", [("now", {})]),
    Output("harmony", "<|channel|>commentary to=now<|message|><|call|>", [("now", {})], repaired=True),
    Output("harmony", "<|channel|>analysis to=python<|message|>print(1)<|call|>ok", said="ok", broken=1),
    Output("harmony", '<|channel|>commentary to=forecast<|message|>{"city": "Be', broken=1),
    Output(
        "inkling",
        "<|content_thinking|>hm<|end_message|><|message_model|><|content_text|>I look.<|end_message|><|message_model|>forecast"
        '<|content_invoke_tool_json|>{"name": "forecast", "args": {"city": "Bern"}}<|end_message|>',
        [forecast(city="Bern")],
        said="I look.",
        thought="hm",
    ),
]
BRACES = [
    Output(
        "gemma4",
        '<|channel>thought\nhm<channel|>I look. <|tool_call>call:forecast{city:<|"|>Bern, "BE" {x<|"|>,days:3,hourly:true,'
        'tags:[<|"|>a<|"|>,b c],where:{zip:3011,floor:2},limit:null}<tool_call|>',
        [
            forecast(
                city='Bern, "BE" {x',
                days=3,
                hourly=True,
                tags=["a", "b c"],
                where={"zip": "3011", "floor": 2},
                limit=None,
            )
        ],
        said="I look. ",
        thought="hm",
    ),
    Output("gemma4", '<|tool_call>call:forecast(city="Bern", days=3)<tool_call|>', [forecast(city="Bern", days=3)]),
    Output(
        "gemma4",
        '<|tool_call>call:forecast{city:<|"|>Bern<|"|> days:3}<tool_call|>',
        [forecast(city="Bern", days=3)],
        repaired=True,
    ),
    Output("gemma4", "<|tool_call>call:now{}", [("now", {})]),
    Output("gemma4", '<|tool_call>call:forecast{city:<|"|>Be', broken=1),
    Output("gemma4", "<|tool_call><tool_call|>nothing", said="nothing", broken=1),
    Output(
        "functiongemma",
        "<start_function_call>call:forecast{city:<escape>it's<escape>}<end_function_call>",
        [forecast(city="it's")],
    ),
]
PYTHON = [
    Output(
        "pythonic",
        "Here: [forecast(city='Martha\\'s', days=07, tags=[\"a\", 'b']), now()] bye",
        [forecast(city="Martha's", days=7, tags=["a", "b"]), ("now", {})],
        said="Here: bye",
        repaired=True,
    ),
    Output(
        "pythonic",
        '<|python_start|>[write_file(path="a", content="""x "y" \\n\'z\'""")]<|python_end|>',
        [write("a", "x \"y\" \n'z'")],
    ),
    Output("pythonic", "[forecast('Bern')]", [forecast(city="Bern")], repaired=True),
    Output("pythonic", "[forecast({'city': 'Bern', 'days': 2})]", [forecast(city="Bern", days=2)], repaired=True),
    Output("pythonic", "[write_file('a', 'b')]", broken=1),
    Output("pythonic", "[forecast(city=home)]", broken=1),
    Output("pythonic", "[forecast(city='a', city='b')]", broken=1),
    Output(
        "pythonic", "a [link](https://example.org) and [note(1)]", said="a [link](https://example.org) and [note(1)]"
    ),
    Output("pythonic", "[forecast(city='Be", broken=1),
    Output(
        "pythonic_lfm2",
        "<|tool_call_start|>[write_file(path='a', content='say \"hi\", it's me')]<|tool_call_end|>\nDone.",
        [write("a", 'say "hi", it\'s me')],
        said="Done.",
        repaired=True,
    ),
    Output(
        "pythonic_lfm2",
        '<|tool_call_start|>[{"name": "forecast", "arguments": {"city": "Bern"}}, {"name": "now"}]<|tool_call_end|>',
        [forecast(city="Bern"), ("now", {})],
        repaired=True,
    ),
    Output("pythonic_lfm2", "[forecast(city='Bern')]", said="[forecast(city='Bern')]"),
    Output(
        "pythonic_olmo3",
        "<function_calls>forecast(city='Bern', hourly=true)\nnow()\n</function_calls>",
        [forecast(city="Bern", hourly=True), ("now", {})],
    ),
    Output(
        "pythonic_bare",
        "I call:\n  forecast(city='Bern')\nnow()\nprint(now())\nforecast is fine",
        [forecast(city="Bern"), ("now", {})],
        said="I call:\n  print(now())\nforecast is fine",
    ),
    Output(
        "pythonic_block",
        "So:\n```python\nforecast(city='Bern')\nnow()\n```\nand\n```python\nprint(1)\n```\nnow()",
        [forecast(city="Bern"), ("now", {})],
        said="So:\nand\n```python\nprint(1)\n```\nnow()",
    ),
]
OUTPUTS = [*QWEN, *GLM, *INVOKES, *MESSAGES, *BRACES, *PYTHON]
