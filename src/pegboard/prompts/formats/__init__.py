"""The formats by name. A format is imported when it is first asked for: a conversation needs one of fifty."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from .format import Format, FormatMessage, FormattedResult, OutputScanner, parse

__all__ = ["FORMATS", "Format", "FormatMessage", "FormattedResult", "OutputScanner", "find_format", "parse"]

_MODULES: Final[Mapping[str, str]] = {
    "apriel": "between_markers",
    "codemode": "codemode",
    "cohere": "cohere",
    "deepseek_v3": "deepseek",
    "deepseek_v31": "deepseek",
    "deepseek_v32": "dsml",
    "deepseek_v4": "dsml",
    "dots": "dots",
    "ernie45": "ernie45",
    "firefunction": "functools_list",
    "functionary": "functionary",
    "functiongemma": "gemma",
    "gemini_json": "generic",
    "gemma4": "gemma",
    "gigachat3": "gigachat3",
    "glm45": "glm",
    "glm47": "glm",
    "granite3": "granite3",
    "granite_20b": "granite_20b",
    "granite_function_call": "granite_20b",
    "harmony": "harmony",
    "hermes": "hermes",
    "hermes_longcat": "hermes_longcat",
    "hunyuan": "hunyuan",
    "hy_v3": "hunyuan",
    "inkling": "inkling",
    "json": "pure_json",
    "json_apertus": "json_apertus",
    "json_fenced": "generic",
    "json_generic": "generic",
    "json_internlm2": "json_internlm2",
    "json_jamba": "between_markers",
    "json_phi4mini": "functools_list",
    "json_xlam": "json_xlam",
    "kimi_k2": "kimi_k2",
    "kimi_k3": "kimi_k3",
    "ling3": "glm",
    "llama3_json": "llama3_json",
    "llama_function_tag": "functionary",
    "minicpm5": "minicpm5",
    "minimax_m2": "minimax_m2",
    "minimax_m3": "minimax_m3",
    "mistral": "mistral",
    "muse_glimmer": "muse_glimmer",
    "native": "native",
    "nemotron_v2": "between_markers",
    "pipeline_default": "anything",
    "poolside_v1": "glm",
    "pythonic": "pythonic",
    "pythonic_bare": "pythonic",
    "pythonic_block": "pythonic",
    "pythonic_lfm2": "pythonic",
    "pythonic_olmo3": "pythonic",
    "qwen3_coder": "qwen3_coder",
    "seed_oss": "seed_oss",
    "step3": "step3",
}
"""By the name of the format: the module that holds it, as `FORMAT`, or as a member of its `FORMATS`."""

_ALIASES: Final[Mapping[str, str]] = {
    "any": "pipeline_default",
    "code_mode": "codemode",
    "deepseek_r1": "deepseek_v3",
    "deepseek_v3.1": "deepseek_v31",
    "glm46": "glm45",
    "glm47_moe": "glm47",
    "glm4_moe": "glm45",
    "gpt_oss": "harmony",
    "granite": "granite3",
    "kimi": "kimi_k2",
    "lfm2": "pythonic_lfm2",
    "llama3": "llama3_json",
    "llama4": "pythonic",
    "llama4_pythonic": "pythonic",
    "longcat": "hermes_longcat",
    "nemotron_v3": "qwen3_coder",
    "olmo3": "pythonic_olmo3",
    "phi4_mini": "json_phi4mini",
    "pure_json": "json",
    "purejson": "json",
    "qwen": "hermes",
    "qwen25": "hermes",
    "qwen3_xml": "qwen3_coder",
    "step3p5": "qwen3_coder",
    "toolace": "pythonic",
}
"""Other names by which people and model servers know a format."""


class _Formats(Mapping[str, Format]):
    def __getitem__(self, name: str) -> Format:
        module = import_module(f".{_MODULES[name]}", __name__)
        found: Format = module.FORMATS[name] if hasattr(module, "FORMATS") else module.FORMAT
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


FORMATS: Final[Mapping[str, Format]] = _Formats()


def find_format(name: str) -> Format | None:
    """The format of that name or alias, in any case."""
    said = name.strip().casefold().replace("-", "_")
    said = _ALIASES.get(said, said)
    return FORMATS[said] if said in _MODULES else None
