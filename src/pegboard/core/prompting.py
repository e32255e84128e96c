"""What the operator says about talking to models: the base prompt, built-ins, formats, the launch filter, limits."""

from dataclasses import dataclass
from typing import Final

from .launch import NO_FILTER, LaunchFilter
from .server import DeclaredAt

PYTHON: Final = "python_execution"
SEARCH: Final = "tool_search"
SCHEMAS: Final = "search_schemas"
SQL: Final = "execute_sql"
BUILTINS: Final = (PYTHON, SEARCH, SCHEMAS, SQL)
"""In the order in which a model is told of them."""

NATIVE: Final = "native"
CODE_MODE: Final = "codemode"
FAMILY: Final = "family"
"""Stands for the format that the model's family was trained on, whichever that is."""

TEXT_FORMATS: Final = (
    "hermes",
    "hermes_longcat",
    "mistral",
    "pythonic",
    "pythonic_bare",
    "pythonic_block",
    "pythonic_lfm2",
    "pythonic_olmo3",
    "json",
    "json_apertus",
    "json_fenced",
    "json_generic",
    "json_internlm2",
    "json_jamba",
    "json_phi4mini",
    "json_xlam",
    "llama3_json",
    "llama_function_tag",
    "gemini_json",
    "apriel",
    "cohere",
    "deepseek_v3",
    "deepseek_v31",
    "deepseek_v32",
    "deepseek_v4",
    "dots",
    "ernie45",
    "firefunction",
    "functionary",
    "functiongemma",
    "gemma4",
    "gigachat3",
    "glm45",
    "glm47",
    "granite3",
    "granite_20b",
    "granite_function_call",
    "harmony",
    "hunyuan",
    "hy_v3",
    "inkling",
    "kimi_k2",
    "kimi_k3",
    "ling3",
    "minicpm5",
    "minimax_m2",
    "minimax_m3",
    "muse_glimmer",
    "nemotron_v2",
    "pipeline_default",
    "poolside_v1",
    "qwen3_coder",
    "seed_oss",
    "step3",
)
"""Those in which a model writes its calls into its text."""

DEFAULT_FORMATS: Final = (NATIVE, FAMILY, "hermes", "mistral", "pythonic", "json", CODE_MODE)
DEFAULT_BASE_PROMPT: Final = (
    "You are a helpful assistant. Use the tools you are given where they help, and never make up what a tool would "
    "answer. When you have what you need, answer in your own words."
)
DEFAULT_BUDGET_TOKENS: Final = 8_000
MIN_BUDGET_TOKENS: Final = 200
DEFAULT_RESULT_CHARS: Final = 16_000
MIN_RESULT_CHARS: Final = 200
"""Characters: less could not say what was cut."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What is known of the models whose name fits a pattern. What is not said is found out otherwise."""

    pattern: str
    """Over the whole name, in any case."""
    billions: float | None = None
    tool_calling: bool | None = None
    format: str | None = None
    thinking: bool | None = None
    opens_thinking: bool | None = None
    at: DeclaredAt | None = None


@dataclass(frozen=True)
class PromptSettings:
    base: str = DEFAULT_BASE_PROMPT
    builtins: tuple[str, ...] = BUILTINS
    """Those that are switched on."""
    formats: tuple[str, ...] = DEFAULT_FORMATS
    """Those that are switched on, in the order in which they are tried."""
    primary: str | None = None
    """The one to prefer; by default the first that is available."""
    launch: LaunchFilter = NO_FILTER
    budget: int = DEFAULT_BUDGET_TOKENS
    """Tokens, by estimate, that the system prompt and the tools beside it cost at most."""
    result: int = DEFAULT_RESULT_CHARS
    """Characters of one result that a model is given at most."""
    run_recovered: bool = False
    """Whether a call runs whose end never came, but whose arguments all did."""
    models: tuple[KnownModel, ...] = ()
