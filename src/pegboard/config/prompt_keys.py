"""The keys of `prompts` and `models`: what models are told of the tools on the board, and what is known of models."""

from collections.abc import Iterable
from typing import Final

from pegboard.core.foreign_names import FORMATS, PLUGABLE_SETTINGS, TOOLS
from pegboard.core.ids import BadId
from pegboard.core.launch import Allowance, LaunchFilter, allowance
from pegboard.core.pattern import MAX_LENGTH
from pegboard.core.prompting import (
    BUILTINS,
    LEAST_BUDGET,
    LEAST_RESULT,
    TEXT_FORMATS,
    KnownModel,
    Prompting,
)
from pegboard.core.server import DeclaredAt
from pegboard.core.tokens import tokens

from .section import Key, Section, Values
from .shape import Choice, Form, ListOf, MapOf, Text, Truth, Whole
from .telling import Placed, Telling

_USUAL: Final = Prompting()
_OWN_FORMATS: Final = {word: name for word, name in FORMATS.items() if name in TEXT_FORMATS}
_OURS: Final = "'prompts."
_WITHIN: Final = {name: hint.replace(_OURS, "'") for name, hint in PLUGABLE_SETTINGS.items() if _OURS in hint}
_BUILTIN_HINTS: Final = {name: f"Did you mean {ours!r}?" for name, ours in TOOLS.items() if ours in BUILTINS}
_WORD: Final = Form(r"[^:\s]+", "write one word, in which *, ? and […] stand for others", longest=MAX_LENGTH)
_TOOL: Final = Form(
    r"mcp:[^:]+(?::[\s\S]+)?|(?!mcp:)[^:]+(?::[\s\S]+)?",
    "write scope:name, for example github:* or *:read_*",
    longest=MAX_LENGTH,
)
_MODEL: Final = Form(r"[^\s\x00-\x1f](?:[^\x00-\x1f]{0,254}[^\s\x00-\x1f])?", "use 1 to 256 characters")
_PARAMETERS: Final = Form(
    r"(?=[0-9.]*[1-9])[0-9]{1,6}(?:\.[0-9]{1,6})?[BbMmTt]?",
    "write how many, such as 8b, 1.7b or 300m; a bare number is of billions",
)
_SHARES: Final = {"m": 0.001, "b": 1.0, "t": 1000.0}

BASE: Final = Key("base", Text(), "What every model is told first. By default a few sentences on using tools.")
BUILTIN_LIST: Final = Key(
    "builtins",
    ListOf(Choice({name: name for name in BUILTINS}, elsewhere=_BUILTIN_HINTS), nothing_is_empty=False),
    "The built-in tools that are switched on: python_execution, tool_search, search_schemas, execute_sql.",
    [*BUILTINS],
)
FORMAT_LIST: Final = Key(
    "formats",
    ListOf(Choice(FORMATS), nothing_is_empty=False),
    "The formats that are switched on, in the order in which they are tried: native (the tools array of the request), "
    "family (the one that the model was trained on), any text format by name, codemode (Python programs).",
    [*_USUAL.formats],
)
PRIMARY: Final = Key(
    "primary",
    Choice(FORMATS),
    "The format to prefer. By default, and where it is not available, the first of formats that is.",
)
_KINDS: Final = {
    "builtins": (_WORD, "Built-ins by patterns of their names"),
    "servers": (
        _WORD,
        "Tools by patterns of what they come from (a server's id, its toolset~server or a toolset's id)",
    ),
    "tools": (_TOOL, "Tools by patterns scope:name, as under deny"),
}
ALLOW: Final = {
    kind: Key(
        f"allow_{kind}",
        ListOf(Text(form), nothing_is_empty=False),
        f"{what}: only what fits one of these; [] for none.",
    )
    for kind, (form, what) in _KINDS.items()
}
DENY: Final = {
    kind: Key(f"deny_{kind}", ListOf(Text(form)), f"{what}: nothing that fits one of these, whatever is allowed.")
    for kind, (form, what) in _KINDS.items()
}
FILTER: Final = Key(
    "filter",
    Section("", (*ALLOW.values(), *DENY.values())),
    "What models are told of and may call, by patterns: a tool must pass those of servers and of tools, a built-in "
    "those of built-ins. It opens nothing.",
)
BUDGET: Final = Key(
    "budget",
    Whole(LEAST_BUDGET, 1_000_000),
    "Tokens, by estimate, that the system prompt and the tools beside it cost at most. The least relevant tools leave "
    "first.",
    _USUAL.budget,
)
RESULT: Final = Key(
    "result_limit",
    Whole(LEAST_RESULT, 10_000_000),
    "Characters of one result that a model is given at most: of a longer one both ends, and how much was cut.",
    _USUAL.result,
)
RECOVERED: Final = Key(
    "run_recovered_calls",
    Truth(),
    "Whether a call runs whose arguments all came, but whose end the model never wrote.",
    False,
)
PROMPTS_SECTION: Final = Section(
    "",
    (BASE, BUILTIN_LIST, FORMAT_LIST, PRIMARY, FILTER, BUDGET, RESULT, RECOVERED),
    advice={
        **_WITHIN,
        "system": "Did you mean 'base'?",
        "tool_search_max_results": PLUGABLE_SETTINGS["tool_search_max_results"],
    },
)

PARAMETERS: Final = Key(
    "parameters",
    Text(_PARAMETERS, as_written=True),
    "How many it has: 8b, 1.7b or 300m. A model under 7b is shown 2 found tools, up to 30b 5, above 10.",
)
TOOL_CALLING: Final = Key("tool_calling", Truth(), "Whether its server takes a tools array for it.")
OWN_FORMAT: Final = Key("format", Choice(_OWN_FORMATS), "The format that it was trained on.")
THINKING: Final = Key("thinking", Truth(), "Whether it thinks aloud before it answers.")
OPENS_THINKING: Final = Key(
    "opens_thinking",
    Truth(),
    "Whether its server's template opens its thinking, so that what it writes begins inside and only ends it.",
    False,
)
MODELS_SHAPE: Final = MapOf(
    _MODEL,
    Section(
        "",
        (PARAMETERS, TOOL_CALLING, OWN_FORMAT, THINKING, OPENS_THINKING),
        advice={"size": "Write parameters.", "billions": "Write parameters.", "tools": "Write tool_calling."},
    ),
)
PROMPTS: Final = Key("prompts", PROMPTS_SECTION, "What models are told where Pegboard speaks with them itself.")
MODELS: Final = Key(
    "models",
    MODELS_SHAPE,
    "What you know of models, by a pattern of their names in which *, ? and […] stand for others. The first pattern "
    "that fits and says it counts; what nobody says is found out by the server, the name and the family.",
)


def prompting(values: Values, file: str, tell: Telling) -> Prompting:
    said, known = values.get(PROMPTS), values.value(MODELS, {})
    models = tuple(_known(pattern, told, file) for pattern, told in known.items())
    if said is None:
        return Prompting(models=models)
    own = said.value
    base, budget = own.value(BASE, _USUAL.base), own.value(BUDGET, _USUAL.budget)
    if (cost := tokens(base)) > budget:
        line, at = said.line, f"{said.at}.base"
        tell.wrong(line, at, f"it costs {cost} tokens, and budget allows {budget}. Shorten it, or raise the budget.")
    primary = own.get(PRIMARY)
    return Prompting(
        base=base,
        builtins=_each(own.get(BUILTIN_LIST), _USUAL.builtins),
        formats=_each(own.get(FORMAT_LIST), _USUAL.formats),
        primary=None if primary is None else primary.value,
        launch=_launch(own.get(FILTER), tell),
        budget=budget,
        result=own.value(RESULT, _USUAL.result),
        run_recovered=own.value(RECOVERED, False),
        models=models,
    )


def _each(said: Placed[tuple[Placed[str], ...]] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    return usual if said is None else tuple(dict.fromkeys(each.value for each in said.value))


def _launch(said: Placed[Values] | None, tell: Telling) -> LaunchFilter:
    if said is None:
        return LaunchFilter()
    made = {kind: _allowance(kind, said, tell) for kind in _KINDS}
    return LaunchFilter(made["builtins"], made["servers"], made["tools"])


def _allowance(kind: str, said: Placed[Values], tell: Telling) -> Allowance:
    only = said.value.get(ALLOW[kind])
    denied = said.value.value(DENY[kind], ())
    made = allowance(kind, None if only is None else _texts(only.value), _texts(denied))
    if isinstance(made, BadId):
        tell.wrong(said.line, said.at, f"{made.why}.")
        return Allowance()
    return made


def _texts(placed: Iterable[Placed[str]]) -> tuple[str, ...]:
    return tuple(each.value for each in placed)


def _known(pattern: str, said: Placed[Values], file: str) -> KnownModel:
    values = said.value
    size, format = values.get(PARAMETERS), values.get(OWN_FORMAT)
    return KnownModel(
        pattern,
        None if size is None else _billions(size.value),
        _truth(values, TOOL_CALLING),
        None if format is None else format.value,
        _truth(values, THINKING),
        _truth(values, OPENS_THINKING),
        DeclaredAt(file, said.line),
    )


def _truth(values: Values, key: Key[bool]) -> bool | None:
    said = values.get(key)
    return None if said is None else said.value


def _billions(text: str) -> float:
    unit = text[-1].lower()
    share = _SHARES.get(unit)
    return float(text) if share is None else round(float(text[:-1]) * share, 6)
