"""All formats by name. A format is imported when it is first used."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from pegboard.prompts.formats.base import Format, FormatMessage, FormattedResult, OutputScanner, parse

__all__ = ["FORMATS", "Format", "FormatMessage", "FormattedResult", "OutputScanner", "find_format", "parse"]

_MODULES: Final[Mapping[str, str]] = {
    "apriel": "json_formats",
    "codemode": "code_mode",
    "cohere": "json_formats",
    "deepseek_v3": "json_formats",
    "deepseek_v31": "json_formats",
    "deepseek_v32": "tag_formats",
    "deepseek_v4": "tag_formats",
    "dots": "tag_formats",
    "ernie45": "json_formats",
    "firefunction": "json_formats",
    "functionary": "json_formats",
    "functiongemma": "other_formats",
    "gemini_json": "json_formats",
    "gemma4": "other_formats",
    "gigachat3": "json_formats",
    "glm45": "tag_formats",
    "glm47": "tag_formats",
    "granite3": "json_formats",
    "granite_20b": "json_formats",
    "granite_function_call": "json_formats",
    "harmony": "other_formats",
    "hermes": "json_formats",
    "hermes_longcat": "json_formats",
    "hunyuan": "tag_formats",
    "hy_v3": "tag_formats",
    "inkling": "other_formats",
    "json": "json_formats",
    "json_apertus": "json_formats",
    "json_fenced": "json_formats",
    "json_generic": "json_formats",
    "json_internlm2": "json_formats",
    "json_jamba": "json_formats",
    "json_phi4mini": "json_formats",
    "json_xlam": "json_formats",
    "kimi_k2": "json_formats",
    "kimi_k3": "tag_formats",
    "ling3": "tag_formats",
    "llama3_json": "json_formats",
    "llama_function_tag": "json_formats",
    "minicpm5": "tag_formats",
    "minimax_m2": "tag_formats",
    "minimax_m3": "other_formats",
    "mistral": "mistral",
    "muse_glimmer": "other_formats",
    "native": "native",
    "nemotron_v2": "json_formats",
    "pipeline_default": "json_formats",
    "poolside_v1": "tag_formats",
    "pythonic": "pythonic",
    "pythonic_bare": "pythonic",
    "pythonic_block": "pythonic",
    "pythonic_lfm2": "pythonic",
    "pythonic_olmo3": "pythonic",
    "qwen3_coder": "tag_formats",
    "seed_oss": "tag_formats",
    "step3": "tag_formats",
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
