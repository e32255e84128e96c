"""The keys of `search`: whether tools are found by what they mean, and who reads them for it."""

from dataclasses import dataclass
from typing import Final

from .section import ConfigKey, ConfigSection, ConfigValues
from .shape import BooleanField, DurationField, IntegerField, TextField, TextRule

_NOT_BLANK: Final = TextRule(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_URL: Final = TextRule(
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\s]+|\$\{)[^\s]*",
    "write a URL that begins with http:// or https://, or with a reference",
)
_REFERENCE: Final = TextRule(
    r"\$\{(?:(?!:-)[^}])+\}",
    "write a reference without a default, ${NAME} or ${file:path}, so that the key is not in this file",
)

SEMANTIC: Final = ConfigKey(
    "semantic",
    BooleanField(),
    "Whether tools are found by what they mean as well as by their words, once the model is set up or an endpoint is "
    "named. Off, no text is read for it.",
    True,
)
URL: Final = ConfigKey(
    "url",
    TextField(_URL, allows_references=True, is_secret=True),
    "Where the endpoint is, without /embeddings: http://127.0.0.1:11434/v1. References are allowed.",
)
MODEL: Final = ConfigKey("model", TextField(_NOT_BLANK), "The model to ask for.")
API_KEY: Final = ConfigKey(
    "api_key",
    TextField(_REFERENCE, allows_references=True, is_secret=True),
    "A reference to the key that is sent as Authorization: Bearer KEY: ${NAME} or ${file:path}.",
)
DIMENSIONS: Final = ConfigKey(
    "dimensions",
    IntegerField(8, 8_192),
    "How long vectors are to be, for a model that can be asked. By default as it likes.",
)
TIMEOUT: Final = ConfigKey(
    "timeout",
    DurationField(),
    "How long a query may take; after that it is answered by words alone: seconds, or a text such as 500ms or 2s.",
    2,
)
EMBEDDINGS: Final = ConfigKey(
    "embeddings",
    ConfigSection(
        "",
        (URL, MODEL, API_KEY, DIMENSIONS, TIMEOUT),
        required=("url", "model"),
        advice={"key": "Write api_key.", "token": "Write api_key.", "endpoint": "Write url."},
    ),
    "An endpoint that speaks OpenAI's embeddings API, in place of the model on this machine. It is sent every query, "
    "and of each open tool its name, description, parameters and server; nothing of tools that are locked.",
)
SECTION: Final = ConfigSection("", (SEMANTIC, EMBEDDINGS))


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
    url, model, key = values.get(URL), values.get(MODEL), values.get(API_KEY)
    dimensions, timeout = values.get(DIMENSIONS), values.get(TIMEOUT)
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
