"""Keys about prompts, models, chat, search, code mode and presentations."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pegboard.config.references import expand_home
from pegboard.config.schema.document import LocatedValue, ProblemCollector
from pegboard.config.schema.fields import (
    BooleanField,
    ChoiceField,
    DurationField,
    IntegerField,
    ListField,
    MapField,
    TextField,
    TextRule,
)
from pegboard.config.schema.section import ConfigKey, ConfigSection, ConfigValues
from pegboard.core.model.foreign_names import FORMATS, PLUGABLE_SETTINGS, TOOLS
from pegboard.core.model.ids import BadId
from pegboard.core.model.patterns import MAX_PATTERN_CHARS, Allowance, LaunchFilter, allowance
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.settings import (
    BUILTINS,
    MAX_CALLS,
    MIN_BUDGET_TOKENS,
    MIN_RESULT_CHARS,
    TEXT_FORMATS,
    CodeLimits,
    CodeSettings,
    KnownModel,
    PromptSettings,
    PythonSandbox,
)
from pegboard.core.presentations.entries import estimate_tokens

# The keys of `chat`: the servers that run language models, and how far a model may go with the tools.

_NOT_BLANK: Final = TextRule(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_NAME: Final = TextRule(r"[a-z0-9][a-z0-9_-]{0,63}", "use small letters, digits, - and _, 64 at most")
_URL: Final = TextRule(
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\s]+|\$\{)[^\s]*",
    "write a URL that begins with http:// or https://, or with a reference",
)
_REFERENCE: Final = TextRule(
    r"\$\{(?:(?!:-)[^}])+\}",
    "write a reference without a default, ${NAME} or ${file:path}, so that the key is not in this file",
)


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """How far one request goes before it is ended."""

    turns: int = 12
    """How often the model is asked."""
    calls: int = 30
    """Of tools of the board, searches included."""
    repeated_errors: int = 4
    """Calls that failed one after the other."""
    repeated_calls: int = 3
    """Calls of one tool with the very same arguments."""
    seconds: float = 600.0
    max_concurrent: int = 32
    """Requests that are being answered."""


_CHAT_DEFAULTS: Final = ChatLimits()

CHAT_URL: Final = ConfigKey(
    "url",
    TextField(_URL, allows_references=True, is_secret=True),
    "Where the server's OpenAI-compatible API is, without /chat/completions: http://127.0.0.1:11434/v1. References are "
    "allowed.",
)
API_KEY: Final = ConfigKey(
    "api_key",
    TextField(_REFERENCE, allows_references=True, is_secret=True),
    "A reference to the key that is sent as Authorization: Bearer KEY: ${NAME} or ${file:path}.",
)
CHAT_MODELS: Final = ConfigKey(
    "models",
    ListField(TextField(_NOT_BLANK, accepts_scalars=True)),
    "The models to offer from this server. By default those that it lists itself, and any that a client names.",
)
CHAT_TIMEOUT: Final = ConfigKey(
    "timeout",
    DurationField(),
    "How long the server may stay silent, before its first word and between two: seconds, or a text such as 30s or 5m.",
    300,
)
MODEL_SERVER: Final = ConfigSection(
    "One server that runs models.",
    (CHAT_URL, API_KEY, CHAT_MODELS, CHAT_TIMEOUT),
    required=("url",),
    advice={
        "base_url": "Write url.",
        "endpoint": "Write url.",
        "key": "Write api_key.",
        "token": "Write api_key.",
        "model": "Write models: [NAME].",
    },
)
SERVERS: Final = ConfigKey(
    "model_servers",
    MapField(_NAME, MODEL_SERVER),
    "The model servers, each under a name of your choice. Where two have a model of one name, it is the first one's; "
    "the other's is asked for as SERVER/MODEL.",
)
DEFAULT_MODEL: Final = ConfigKey(
    "default_model",
    TextField(_NOT_BLANK, accepts_scalars=True),
    "The model for requests that name none: MODEL, or SERVER/MODEL.",
)
TURNS: Final = ConfigKey(
    "turns", IntegerField(2, 1_000), "How often the model is asked for one answer.", _CHAT_DEFAULTS.turns
)
CHAT_CALLS: Final = ConfigKey(
    "calls", IntegerField(1, 10_000), "How many tools are called for one answer.", _CHAT_DEFAULTS.calls
)
REPEATED_ERRORS: Final = ConfigKey(
    "repeated_errors",
    IntegerField(1, 1_000),
    "How many calls may fail one after the other.",
    _CHAT_DEFAULTS.repeated_errors,
)
REPEATED_CALLS: Final = ConfigKey(
    "repeated_calls",
    IntegerField(1, 1_000),
    "How often a tool is called with the very same arguments.",
    _CHAT_DEFAULTS.repeated_calls,
)
TIME: Final = ConfigKey(
    "time",
    DurationField(),
    "How long an answer may take, tools and waiting for people included: seconds, or a text such as 90s or 10m.",
    _CHAT_DEFAULTS.seconds,
)
CHAT_CONCURRENCY: Final = ConfigKey(
    "concurrency", IntegerField(1, 10_000), "How many requests are answered at a time.", _CHAT_DEFAULTS.max_concurrent
)
CHAT_LIMITS: Final = ConfigKey(
    "limits",
    ConfigSection("", (TURNS, CHAT_CALLS, REPEATED_ERRORS, REPEATED_CALLS, TIME, CHAT_CONCURRENCY)),
    "What ends an answer. Before it ends by a number, the model is asked once more, without tools.",
)
CHAT_SECTION: Final = ConfigSection(
    "",
    (SERVERS, DEFAULT_MODEL, CHAT_LIMITS),
    required=("model_servers",),
    advice={
        "model": "Write default_model.",
        "servers": "Write model_servers.",
        "url": "Write it under model_servers: {NAME: {url: …}}.",
    },
)


@dataclass(frozen=True, slots=True)
class ModelServerSettings:
    """A model server as the operator wrote it: references are followed when a request is made."""

    name: str
    url: str
    api_key: str | None = None
    models: tuple[str, ...] = ()
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class ChatSettings:
    servers: Mapping[str, ModelServerSettings] = field(default_factory=dict[str, ModelServerSettings])
    default_model: str | None = None
    limits: ChatLimits = _CHAT_DEFAULTS


def chat_settings(said: ConfigValues) -> ChatSettings | None:
    """Nothing where no server is named: then there is no chat."""
    servers = {
        name: server
        for name, placed in said.value(SERVERS, {}).items()
        if (server := _server(name, placed.value)) is not None
    }
    if not servers:
        return None
    model, limits = said.get(DEFAULT_MODEL), said.get(CHAT_LIMITS)
    return ChatSettings(
        servers,
        None if model is None else model.value,
        _CHAT_DEFAULTS if limits is None else _chat_limits(limits.value),
    )


def _server(name: str, said: ConfigValues) -> ModelServerSettings | None:
    url, key = said.get(CHAT_URL), said.get(API_KEY)
    if url is None:
        return None
    return ModelServerSettings(
        name,
        url.value,
        None if key is None else key.value,
        tuple(model.value for model in said.value(CHAT_MODELS, ())),
        said.value(CHAT_TIMEOUT, 300.0),
    )


def _chat_limits(said: ConfigValues) -> ChatLimits:
    return ChatLimits(
        said.value(TURNS, _CHAT_DEFAULTS.turns),
        said.value(CHAT_CALLS, _CHAT_DEFAULTS.calls),
        said.value(REPEATED_ERRORS, _CHAT_DEFAULTS.repeated_errors),
        said.value(REPEATED_CALLS, _CHAT_DEFAULTS.repeated_calls),
        said.value(TIME, _CHAT_DEFAULTS.seconds),
        said.value(CHAT_CONCURRENCY, _CHAT_DEFAULTS.max_concurrent),
    )


# The keys of `code`: which Python runs the programs of models, and how far each may go.

_CODE_DEFAULTS: Final = CodeSettings()
_DEFAULT_LIMITS: Final = CodeLimits()
_KILO: Final = 1024
_MEGA: Final = 1024 * 1024

LISTED: Final = ConfigKey(
    "listed",
    BooleanField(),
    "Whether python_execution hangs on the board like any other tool, in the lists of direct, meta, search and "
    "deferred. /mcp/code, chats and pegboard run have it anyway.",
    _CODE_DEFAULTS.is_listed,
)
SANDBOX: Final = ConfigKey(
    "sandbox",
    ChoiceField({python.value: python for python in PythonSandbox}),
    "Which Python: monty (a small one that runs everywhere and starts at once) or full (CPython, on Linux only, behind "
    "Landlock and seccomp; where those cannot be had, no program runs).",
    _CODE_DEFAULTS.python.value,
)
FALLBACK: Final = ConfigKey(
    "fallback",
    BooleanField(),
    "With monty: whether a program that needs more than it has is run by full instead, as long as it has called "
    "nothing.",
    _CODE_DEFAULTS.fallback,
)
TYPE_CHECK: Final = ConfigKey(
    "type_check",
    BooleanField(),
    "Whether a program's types are checked before it runs: a missing await, a wrong argument or key is told at once.",
    _CODE_DEFAULTS.check,
)
MAX_RUNS: Final = ConfigKey(
    "max_runs",
    IntegerField(1, 256),
    "How many programs run at once; further ones wait for their turn.",
    _CODE_DEFAULTS.runs,
)
CPU: Final = ConfigKey("cpu", DurationField(), "Of computing, without waiting for tools.", _DEFAULT_LIMITS.cpu)
RUN_TIME: Final = ConfigKey(
    "time", DurationField(), "From start to end, without the time in which a person is asked.", _DEFAULT_LIMITS.wall
)
MEMORY: Final = ConfigKey("memory_mb", IntegerField(16, 16_384), "Of memory, in MiB.", _DEFAULT_LIMITS.memory // _MEGA)
CODE_CALLS: Final = ConfigKey("calls", IntegerField(1, MAX_CALLS), "Calls of tools.", _DEFAULT_LIMITS.calls)
CONCURRENCY: Final = ConfigKey(
    "concurrency", IntegerField(1, 64), "Calls of tools at the same time.", _DEFAULT_LIMITS.concurrency
)
CODE_RESULT: Final = ConfigKey(
    "result_kb", IntegerField(1, 16_384), "Of the result as JSON, in KiB.", _DEFAULT_LIMITS.result // _KILO
)
STDOUT: Final = ConfigKey(
    "stdout_kb", IntegerField(1, 16_384), "Of what it prints, in KiB.", _DEFAULT_LIMITS.stdout // _KILO
)
CODE: Final = ConfigKey(
    "code_kb", IntegerField(1, 1_024), "Of the program itself, in KiB.", _DEFAULT_LIMITS.code // _KILO
)
SLEEP: Final = ConfigKey("sleep", DurationField(), "Of sleeping, in all.", _DEFAULT_LIMITS.sleep)
CODE_LIMITS: Final = ConfigKey(
    "limits",
    ConfigSection("", (CPU, RUN_TIME, MEMORY, CODE_CALLS, CONCURRENCY, CODE_RESULT, STDOUT, CODE, SLEEP)),
    "What one program may use at most. Times are seconds, or a text such as 500ms, 30s or 2m.",
)
CODE_SECTION: Final = ConfigSection(
    "",
    (LISTED, SANDBOX, FALLBACK, TYPE_CHECK, MAX_RUNS, CODE_LIMITS),
    advice={
        "enabled": "Programs run where a caller is shown a way to: write presentation: code, or listed: true.",
        "python": "Write sandbox.",
        "check": "Write type_check.",
        "timeout": "Write limits: {time: 60s}.",
        "memory": "Write limits: {memory_mb: 256}.",
    },
)


def code_settings(said: LocatedValue[ConfigValues] | None) -> CodeSettings:
    if said is None:
        return _CODE_DEFAULTS
    values = said.value
    return CodeSettings(
        is_listed=values.value(LISTED, _CODE_DEFAULTS.is_listed),
        python=values.value(SANDBOX, _CODE_DEFAULTS.python),
        fallback=values.value(FALLBACK, _CODE_DEFAULTS.fallback),
        check=values.value(TYPE_CHECK, _CODE_DEFAULTS.check),
        limits=_code_limits(values.get(CODE_LIMITS)),
        runs=values.value(MAX_RUNS, _CODE_DEFAULTS.runs),
    )


def _code_limits(said: LocatedValue[ConfigValues] | None) -> CodeLimits:
    if said is None:
        return _DEFAULT_LIMITS
    values = said.value
    return CodeLimits(
        cpu=values.value(CPU, _DEFAULT_LIMITS.cpu),
        wall=values.value(RUN_TIME, _DEFAULT_LIMITS.wall),
        memory=values.value(MEMORY, _DEFAULT_LIMITS.memory // _MEGA) * _MEGA,
        calls=values.value(CODE_CALLS, _DEFAULT_LIMITS.calls),
        concurrency=values.value(CONCURRENCY, _DEFAULT_LIMITS.concurrency),
        result=values.value(CODE_RESULT, _DEFAULT_LIMITS.result // _KILO) * _KILO,
        stdout=values.value(STDOUT, _DEFAULT_LIMITS.stdout // _KILO) * _KILO,
        code=values.value(CODE, _DEFAULT_LIMITS.code // _KILO) * _KILO,
        sleep=values.value(SLEEP, _DEFAULT_LIMITS.sleep),
    )


# The keys of `containers`: the engine that runs the containers of toolsets, and what it is told beside our own.

_SLASHES: Final = re.compile(r"[/\\]" if os.sep == "\\" else "/")
_FLAG: Final = TextRule(
    r"[\s\S]*\S[\s\S]*", "it must not be blank; write each flag and each value on its own, as in [--runtime, runc]"
)

ENGINE: Final = ConfigKey(
    "engine",
    TextField(_NOT_BLANK),
    "The program that runs containers: podman, docker, or the path of one that takes their arguments; a relative path "
    "with a slash is taken from the folder of this file. By default podman if it is on the PATH, else docker.",
)
FLAGS: Final = ConfigKey(
    "flags",
    ListField(TextField(_FLAG, accepts_scalars=True)),
    "Added to every run of a container, after Pegboard's own, such as --ulimit or --runtime. Some of them give "
    "back what Pegboard takes away from a container.",
)
GLOBAL_FLAGS: Final = ConfigKey(
    "global_flags",
    ListField(TextField(_FLAG, accepts_scalars=True)),
    "Written before every command of the engine, such as [--storage-driver, vfs].",
)
CONTAINER_SECTION: Final = ConfigSection(
    "",
    (ENGINE, FLAGS, GLOBAL_FLAGS),
    advice={
        "args": "Write flags, or global_flags for those that stand before the engine's command.",
        "image": "Images belong to toolsets: containers in toolset.yaml.",
    },
)


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    engine: str | None = None
    """`None` for the first that is found on the PATH."""
    flags: tuple[str, ...] = ()
    global_flags: tuple[str, ...] = ()


def container_settings(said: ConfigValues, folder: Path, environ: Mapping[str, str]) -> ContainerSettings:
    engine = said.get(ENGINE)
    return ContainerSettings(
        engine=None if engine is None else _program(engine.value, folder, environ),
        flags=tuple(flag.value for flag in said.value(FLAGS, ())),
        global_flags=tuple(flag.value for flag in said.value(GLOBAL_FLAGS, ())),
    )


def _program(engine: str, folder: Path, environ: Mapping[str, str]) -> str:
    """A bare name is looked up on the PATH when it is needed."""
    if not _SLASHES.search(engine):
        return engine
    return os.path.normpath(folder / expand_home(engine, environ))


# The keys of `search`: whether tools are found by what they mean, and who reads them for it.

SEMANTIC: Final = ConfigKey(
    "semantic",
    BooleanField(),
    "Whether tools are found by what they mean as well as by their words, once the model is set up or an endpoint is "
    "named. Off, no text is read for it.",
    True,
)
SEARCH_URL: Final = ConfigKey(
    "url",
    TextField(_URL, allows_references=True, is_secret=True),
    "Where the endpoint is, without /embeddings: http://127.0.0.1:11434/v1. References are allowed.",
)
MODEL: Final = ConfigKey("model", TextField(_NOT_BLANK), "The model to ask for.")
DIMENSIONS: Final = ConfigKey(
    "dimensions",
    IntegerField(8, 8_192),
    "How long vectors are to be, for a model that can be asked. By default as it likes.",
)
SEARCH_TIMEOUT: Final = ConfigKey(
    "timeout",
    DurationField(),
    "How long a query may take; after that it is answered by words alone: seconds, or a text such as 500ms or 2s.",
    2,
)
EMBEDDINGS: Final = ConfigKey(
    "embeddings",
    ConfigSection(
        "",
        (SEARCH_URL, MODEL, API_KEY, DIMENSIONS, SEARCH_TIMEOUT),
        required=("url", "model"),
        advice={"key": "Write api_key.", "token": "Write api_key.", "endpoint": "Write url."},
    ),
    "An endpoint that speaks OpenAI's embeddings API, in place of the model on this machine. It is sent every query, "
    "and of each open tool its name, description, parameters and server; nothing of tools that are locked.",
)
SEARCH_SECTION: Final = ConfigSection("", (SEMANTIC, EMBEDDINGS))


@dataclass(frozen=True, slots=True)
class EmbeddingEndpoint:
    """An endpoint as the operator wrote it: references are followed when a request is made."""

    url: str
    model: str
    api_key: str | None = None
    dimensions: int | None = None
    timeout: float = 2.0


@dataclass(frozen=True, slots=True)
class SearchSettings:
    semantic: bool = True
    embeddings: EmbeddingEndpoint | None = None


def search_settings(said: ConfigValues) -> SearchSettings:
    semantic, endpoint = said.value(SEMANTIC, True), said.get(EMBEDDINGS)
    if endpoint is None:
        return SearchSettings(semantic)
    values = endpoint.value
    url, model, key = values.get(SEARCH_URL), values.get(MODEL), values.get(API_KEY)
    dimensions, timeout = values.get(DIMENSIONS), values.get(SEARCH_TIMEOUT)
    if url is None or model is None:
        return SearchSettings(semantic)
    return SearchSettings(
        semantic,
        EmbeddingEndpoint(
            url.value,
            model.value,
            None if key is None else key.value,
            None if dimensions is None else dimensions.value,
            2.0 if timeout is None else timeout.value,
        ),
    )


_PROMPT_DEFAULTS: Final = PromptSettings()
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
    [*_PROMPT_DEFAULTS.formats],
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
    _PROMPT_DEFAULTS.budget,
)
PROMPT_RESULT: Final = ConfigKey(
    "result_limit",
    IntegerField(MIN_RESULT_CHARS, 10_000_000),
    "Characters of one result that a model is given at most: of a longer one both ends, and how much was cut.",
    _PROMPT_DEFAULTS.result,
)
RECOVERED: Final = ConfigKey(
    "run_recovered_calls",
    BooleanField(),
    "Whether a call runs whose arguments all came, but whose end the model never wrote.",
    False,
)
PROMPTS_SECTION: Final = ConfigSection(
    "",
    (BASE, BUILTIN_LIST, FORMAT_LIST, PRIMARY, FILTER, BUDGET, PROMPT_RESULT, RECOVERED),
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
PROMPT_MODELS: Final = ConfigKey(
    "models",
    MODELS_FIELD,
    "What you know of models, by a pattern of their names in which *, ? and […] stand for others. The first pattern "
    "that fits and says it counts; what nobody says is found out by the server, the name and the family.",
)


def prompt_settings(values: ConfigValues, file: str, tell: ProblemCollector) -> PromptSettings:
    said, known = values.get(PROMPTS), values.value(PROMPT_MODELS, {})
    models = tuple(_known_model(pattern, told, file) for pattern, told in known.items())
    if said is None:
        return PromptSettings(models=models)
    own = said.value
    base, budget = own.value(BASE, _PROMPT_DEFAULTS.base), own.value(BUDGET, _PROMPT_DEFAULTS.budget)
    if (cost := estimate_tokens(base)) > budget:
        line, at = said.line, f"{said.key}.base"
        tell.add_problem(
            line, at, f"it costs {cost} tokens, and budget allows {budget}. Shorten it, or raise the budget."
        )
    primary = own.get(PRIMARY)
    return PromptSettings(
        base=base,
        builtins=_unique_values(own.get(BUILTIN_LIST), _PROMPT_DEFAULTS.builtins),
        formats=_unique_values(own.get(FORMAT_LIST), _PROMPT_DEFAULTS.formats),
        primary=None if primary is None else primary.value,
        launch=_launch_filter(own.get(FILTER), tell),
        budget=budget,
        result=own.value(PROMPT_RESULT, _PROMPT_DEFAULTS.result),
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
