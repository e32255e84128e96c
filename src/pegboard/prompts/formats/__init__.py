"""All formats by name. A format is imported when it is first used."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from pegboard.prompts.formats.base import Format, FormatMessage, FormattedResult, OutputScanner, parse

__all__ = ["FORMATS", "Format", "FormatMessage", "FormattedResult", "OutputScanner", "find_format", "parse"]

_NAMES_BY_MODULE: Final[Mapping[str, tuple[str, ...]]] = {
    "code_mode": ("codemode",),
    "json_formats": (
        *("apriel", "cohere", "deepseek_v3", "deepseek_v31", "ernie45", "firefunction", "functionary"),
        *("gemini_json", "gigachat3", "granite3", "granite_20b", "granite_function_call", "hermes"),
        *("hermes_longcat", "inkling", "json", "json_apertus", "json_fenced", "json_generic"),
        *("json_internlm2", "json_jamba", "json_phi4mini", "json_xlam", "kimi_k2", "llama3_json"),
        *("llama_function_tag", "mistral", "nemotron_v2", "pipeline_default"),
    ),
    "native": ("native",),
    "other_formats": ("functiongemma", "gemma4", "harmony", "minimax_m3"),
    "pythonic": ("pythonic", "pythonic_bare", "pythonic_block", "pythonic_lfm2", "pythonic_olmo3"),
    "tag_formats": (
        *("deepseek_v32", "deepseek_v4", "dots", "glm45", "glm47", "hunyuan", "hy_v3", "kimi_k3", "ling3"),
        *("minicpm5", "minimax_m2", "muse_glimmer", "poolside_v1", "qwen3_coder", "seed_oss", "step3"),
    ),
}
"""By the module that holds a format, as `FORMAT` or as a member of its `FORMATS`."""
_MODULES: Final = dict(sorted((name, module) for module, names in _NAMES_BY_MODULE.items() for name in names))

ALIASES: Final[Mapping[str, str]] = {
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
    said = ALIASES.get(said, said)
    return FORMATS[said] if said in _MODULES else None
