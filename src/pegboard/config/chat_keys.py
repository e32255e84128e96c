"""The keys of `chat`: the servers that run language models, and how far a model may go with the tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .section import ConfigKey, ConfigSection, ConfigValues
from .shape import DurationField, IntegerField, ListField, MapField, TextField, TextRule

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


_DEFAULTS: Final = ChatLimits()

URL: Final = ConfigKey(
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
MODELS: Final = ConfigKey(
    "models",
    ListField(TextField(_NOT_BLANK, accepts_scalars=True)),
    "The models to offer from this server. By default those that it lists itself, and any that a client names.",
)
TIMEOUT: Final = ConfigKey(
    "timeout",
    DurationField(),
    "How long the server may stay silent, before its first word and between two: seconds, or a text such as 30s or 5m.",
    300,
)
MODEL_SERVER: Final = ConfigSection(
    "One server that runs models.",
    (URL, API_KEY, MODELS, TIMEOUT),
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
    "turns", IntegerField(2, 1_000), "How often the model is asked for one answer.", _DEFAULTS.turns
)
CALLS: Final = ConfigKey("calls", IntegerField(1, 10_000), "How many tools are called for one answer.", _DEFAULTS.calls)
REPEATED_ERRORS: Final = ConfigKey(
    "repeated_errors", IntegerField(1, 1_000), "How many calls may fail one after the other.", _DEFAULTS.repeated_errors
)
REPEATED_CALLS: Final = ConfigKey(
    "repeated_calls",
    IntegerField(1, 1_000),
    "How often a tool is called with the very same arguments.",
    _DEFAULTS.repeated_calls,
)
TIME: Final = ConfigKey(
    "time",
    DurationField(),
    "How long an answer may take, tools and waiting for people included: seconds, or a text such as 90s or 10m.",
    _DEFAULTS.seconds,
)
AT_ONCE: Final = ConfigKey(
    "at_once", IntegerField(1, 10_000), "How many requests are answered at a time.", _DEFAULTS.max_concurrent
)
LIMITS: Final = ConfigKey(
    "limits",
    ConfigSection("", (TURNS, CALLS, REPEATED_ERRORS, REPEATED_CALLS, TIME, AT_ONCE)),
    "What ends an answer. Before it ends by a number, the model is asked once more, without tools.",
)
SECTION: Final = ConfigSection(
    "",
    (SERVERS, DEFAULT_MODEL, LIMITS),
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
    limits: ChatLimits = _DEFAULTS


def chat_settings(said: ConfigValues) -> ChatSettings | None:
    """Nothing where no server is named: then there is no chat."""
    servers = {
        name: server
        for name, placed in said.value(SERVERS, {}).items()
        if (server := _server(name, placed.value)) is not None
    }
    if not servers:
        return None
    model, limits = said.get(DEFAULT_MODEL), said.get(LIMITS)
    return ChatSettings(
        servers, None if model is None else model.value, _DEFAULTS if limits is None else _limits(limits.value)
    )


def _server(name: str, said: ConfigValues) -> ModelServerSettings | None:
    url, key = said.get(URL), said.get(API_KEY)
    if url is None:
        return None
    return ModelServerSettings(
        name,
        url.value,
        None if key is None else key.value,
        tuple(model.value for model in said.value(MODELS, ())),
        said.value(TIMEOUT, 300.0),
    )


def _limits(said: ConfigValues) -> ChatLimits:
    return ChatLimits(
        said.value(TURNS, _DEFAULTS.turns),
        said.value(CALLS, _DEFAULTS.calls),
        said.value(REPEATED_ERRORS, _DEFAULTS.repeated_errors),
        said.value(REPEATED_CALLS, _DEFAULTS.repeated_calls),
        said.value(TIME, _DEFAULTS.seconds),
        said.value(AT_ONCE, _DEFAULTS.max_concurrent),
    )
