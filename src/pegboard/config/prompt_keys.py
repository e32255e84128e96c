"""The keys of `prompts` and `models`: what models are told of the tools on the board, and what is known of models."""

from collections.abc import Iterable
from typing import Final

from pegboard.core.foreign_names import FORMATS, PLUGABLE_SETTINGS, TOOLS
from pegboard.core.ids import BadId
from pegboard.core.launch import Allowance, LaunchFilter, allowance
from pegboard.core.pattern import MAX_PATTERN_CHARS
from pegboard.core.prompting import (
    BUILTINS,
    MIN_BUDGET_TOKENS,
    MIN_RESULT_CHARS,
    TEXT_FORMATS,
    KnownModel,
    PromptSettings,
)
from pegboard.core.server import DeclaredAt
from pegboard.core.tokens import estimate_tokens

from .section import ConfigKey, ConfigSection, ConfigValues
from .shape import BooleanField, ChoiceField, IntegerField, ListField, MapField, TextField, TextRule
from .telling import LocatedValue, ProblemCollector

_DEFAULTS: Final = PromptSettings()
_OWN_FORMATS: Final = {word: name for word, name in FORMATS.items() if name in TEXT_FORMATS}
_OWN_PREFIX: Final = "'prompts."
_SECTION_HINTS: Final = {
    name: hint.replace(_OWN_PREFIX, "'") for name, hint in PLUGABLE_SETTINGS.items() if _OWN_PREFIX in hint
}
_BUILTIN_HINTS: Final = {name: f"Did you mean {ours!r}?" for name, ours in TOOLS.items() if ours in BUILTINS}
_WORD: Final = TextRule(
    r"[^:\s]+", "write one word, in which *, ? and […] stand for others", max_length=MAX_PATTERN_CHARS
)
_TOOL: Final = TextRule(
    r"mcp:[^:]+(?::[\s\S]+)?|(?!mcp:)[^:]+(?::[\s\S]+)?",
    "write scope:name, for example github:* or *:read_*",
    max_length=MAX_PATTERN_CHARS,
)
_MODEL: Final = TextRule(r"[^\s\x00-\x1f](?:[^\x00-\x1f]{0,254}[^\s\x00-\x1f])?", "use 1 to 256 characters")
_PARAMETERS: Final = TextRule(
    r"(?=[0-9.]*[1-9])[0-9]{1,6}(?:\.[0-9]{1,6})?[BbMmTt]?",
    "write how many, such as 8b, 1.7b or 300m; a bare number is of billions",
)
_BILLIONS_PER_UNIT: Final = {"m": 0.001, "b": 1.0, "t": 1000.0}

BASE: Final = ConfigKey(
    "base", TextField(), "What every model is told first. By default a few sentences on using tools."
)
BUILTIN_LIST: Final = ConfigKey(
    "builtins",
    ListField(ChoiceField({name: name for name in BUILTINS}, hints=_BUILTIN_HINTS), null_is_empty=False),
    "The built-in tools that are switched on: python_execution, tool_search, search_schemas, execute_sql.",
    [*BUILTINS],
)
FORMAT_LIST: Final = ConfigKey(
    "formats",
    ListField(ChoiceField(FORMATS), null_is_empty=False),
    "The formats that are switched on, in the order in which they are tried: native (the tools array of the request), "
    "family (the one that the model was trained on), any text format by name, codemode (Python programs).",
    [*_DEFAULTS.formats],
)
PRIMARY: Final = ConfigKey(
    "primary",
    ChoiceField(FORMATS),
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
    kind: ConfigKey(
        f"allow_{kind}",
        ListField(TextField(form), null_is_empty=False),
        f"{what}: only what fits one of these; [] for none.",
    )
    for kind, (form, what) in _KINDS.items()
}
DENY: Final = {
    kind: ConfigKey(
        f"deny_{kind}", ListField(TextField(form)), f"{what}: nothing that fits one of these, whatever is allowed."
    )
    for kind, (form, what) in _KINDS.items()
}
FILTER: Final = ConfigKey(
    "filter",
    ConfigSection("", (*ALLOW.values(), *DENY.values())),
    "What models are told of and may call, by patterns: a tool must pass those of servers and of tools, a built-in "
    "those of built-ins. It opens nothing.",
)
BUDGET: Final = ConfigKey(
    "budget",
    IntegerField(MIN_BUDGET_TOKENS, 1_000_000),
    "Tokens, by estimate, that the system prompt and the tools beside it cost at most. The least relevant tools leave "
    "first.",
    _DEFAULTS.budget,
)
RESULT: Final = ConfigKey(
    "result_limit",
    IntegerField(MIN_RESULT_CHARS, 10_000_000),
    "Characters of one result that a model is given at most: of a longer one both ends, and how much was cut.",
    _DEFAULTS.result,
)
RECOVERED: Final = ConfigKey(
    "run_recovered_calls",
    BooleanField(),
    "Whether a call runs whose arguments all came, but whose end the model never wrote.",
    False,
)
PROMPTS_SECTION: Final = ConfigSection(
    "",
    (BASE, BUILTIN_LIST, FORMAT_LIST, PRIMARY, FILTER, BUDGET, RESULT, RECOVERED),
    advice={
        **_SECTION_HINTS,
        "system": "Did you mean 'base'?",
        "tool_search_max_results": PLUGABLE_SETTINGS["tool_search_max_results"],
    },
)

PARAMETERS: Final = ConfigKey(
    "parameters",
    TextField(_PARAMETERS, accepts_scalars=True),
    "How many it has: 8b, 1.7b or 300m. A model under 7b is shown 2 found tools, up to 30b 5, above 10.",
)
TOOL_CALLING: Final = ConfigKey("tool_calling", BooleanField(), "Whether its server takes a tools array for it.")
OWN_FORMAT: Final = ConfigKey("format", ChoiceField(_OWN_FORMATS), "The format that it was trained on.")
THINKING: Final = ConfigKey("thinking", BooleanField(), "Whether it thinks aloud before it answers.")
OPENS_THINKING: Final = ConfigKey(
    "opens_thinking",
    BooleanField(),
    "Whether its server's template opens its thinking, so that what it writes begins inside and only ends it.",
    False,
)
MODELS_FIELD: Final = MapField(
    _MODEL,
    ConfigSection(
        "",
        (PARAMETERS, TOOL_CALLING, OWN_FORMAT, THINKING, OPENS_THINKING),
        advice={"size": "Write parameters.", "billions": "Write parameters.", "tools": "Write tool_calling."},
    ),
)
PROMPTS: Final = ConfigKey("prompts", PROMPTS_SECTION, "What models are told where Pegboard speaks with them itself.")
MODELS: Final = ConfigKey(
    "models",
    MODELS_FIELD,
    "What you know of models, by a pattern of their names in which *, ? and […] stand for others. The first pattern "
    "that fits and says it counts; what nobody says is found out by the server, the name and the family.",
)


def prompt_settings(values: ConfigValues, file: str, tell: ProblemCollector) -> PromptSettings:
    said, known = values.get(PROMPTS), values.value(MODELS, {})
    models = tuple(_known_model(pattern, told, file) for pattern, told in known.items())
    if said is None:
        return PromptSettings(models=models)
    own = said.value
    base, budget = own.value(BASE, _DEFAULTS.base), own.value(BUDGET, _DEFAULTS.budget)
    if (cost := estimate_tokens(base)) > budget:
        line, at = said.line, f"{said.key}.base"
        tell.add_problem(
            line, at, f"it costs {cost} tokens, and budget allows {budget}. Shorten it, or raise the budget."
        )
    primary = own.get(PRIMARY)
    return PromptSettings(
        base=base,
        builtins=_unique_values(own.get(BUILTIN_LIST), _DEFAULTS.builtins),
        formats=_unique_values(own.get(FORMAT_LIST), _DEFAULTS.formats),
        primary=None if primary is None else primary.value,
        launch=_launch_filter(own.get(FILTER), tell),
        budget=budget,
        result=own.value(RESULT, _DEFAULTS.result),
        run_recovered=own.value(RECOVERED, False),
        models=models,
    )


def _unique_values(said: LocatedValue[tuple[LocatedValue[str], ...]] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    return usual if said is None else tuple(dict.fromkeys(each.value for each in said.value))


def _launch_filter(said: LocatedValue[ConfigValues] | None, tell: ProblemCollector) -> LaunchFilter:
    if said is None:
        return LaunchFilter()
    made = {kind: _allowance(kind, said, tell) for kind in _KINDS}
    return LaunchFilter(made["builtins"], made["servers"], made["tools"])


def _allowance(kind: str, said: LocatedValue[ConfigValues], tell: ProblemCollector) -> Allowance:
    only = said.value.get(ALLOW[kind])
    denied = said.value.value(DENY[kind], ())
    made = allowance(kind, None if only is None else _texts(only.value), _texts(denied))
    if isinstance(made, BadId):
        tell.add_problem(said.line, said.key, f"{made.why}.")
        return Allowance()
    return made


def _texts(placed: Iterable[LocatedValue[str]]) -> tuple[str, ...]:
    return tuple(each.value for each in placed)


def _known_model(pattern: str, said: LocatedValue[ConfigValues], file: str) -> KnownModel:
    values = said.value
    size, format = values.get(PARAMETERS), values.get(OWN_FORMAT)
    return KnownModel(
        pattern,
        None if size is None else _billions(size.value),
        _optional_boolean(values, TOOL_CALLING),
        None if format is None else format.value,
        _optional_boolean(values, THINKING),
        _optional_boolean(values, OPENS_THINKING),
        DeclaredAt(file, said.line),
    )


def _optional_boolean(values: ConfigValues, key: ConfigKey[bool]) -> bool | None:
    said = values.get(key)
    return None if said is None else said.value


def _billions(text: str) -> float:
    unit = text[-1].lower()
    share = _BILLIONS_PER_UNIT.get(unit)
    return float(text) if share is None else round(float(text[:-1]) * share, 6)
