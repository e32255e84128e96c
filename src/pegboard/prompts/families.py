"""Families of models: what each was trained to write, and what is known of those whose names do not tell it.

Who knows better says so under `models` in pegboard.yaml.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    name: str = ""
    format: str = ""
    """The one that it was trained on; empty where it was trained on none."""
    tool_calling: bool = False
    """Whether common servers take a `tools` array for it and give back calls."""
    thinking: bool = False
    billions: float | None = None
    """Where all models of this name have that many and do not say so in it."""
    is_large: bool = False


UNKNOWN_FAMILY: Final = Family()


def _family_row(
    pattern: str,
    name: str,
    format: str = "",
    *,
    tools: bool = True,
    thinks: bool = False,
    billions: float | None = None,
    large: bool = False,
) -> tuple[re.Pattern[str], Family]:
    """The pattern begins where a word of the name does; a blank in it stands for whatever parts words, or nothing."""
    begun = rf"(?<![a-z])(?:{pattern.replace(' ', '[-_.: ]?')})"
    return re.compile(begun), Family(name, format, tools and bool(format or large), thinks, billions, large)


_FAMILIES: Final = (
    # What was made out of another family's model bears both names, and writes as it was taught last.
    _family_row("deepseek r1 distill", "DeepSeek-R1-Distill", thinks=True),
    _family_row("(?:open|nous)? hermes", "Hermes", "hermes"),
    _family_row("xlam", "xLAM", "json_xlam"),
    _family_row("functionary", "Functionary", "functionary"),
    _family_row("firefunction", "FireFunction", "firefunction"),
    _family_row("toolace", "ToolACE", "pythonic"),
    _family_row("functiongemma", "FunctionGemma", "functiongemma"),
    _family_row("gemma 4", "Gemma 4", "gemma4", thinks=True),
    _family_row("gemma 3", "Gemma 3", "pythonic", tools=False),
    _family_row("qwen 3 coder", "Qwen3-Coder", "qwen3_coder"),
    _family_row(r"qwen 3\.[5-9]", "Qwen3.5", "qwen3_coder", thinks=True),
    _family_row(r"qwen 3.*instruct 25[0-9]{2}", "Qwen3-Instruct", "hermes"),
    _family_row("qwen 3", "Qwen3", "hermes", thinks=True),
    _family_row("qwq", "QwQ", "hermes", thinks=True, billions=32),
    _family_row("qwen 2|qwen 1", "Qwen2", "hermes"),
    _family_row("qwen (?:max|plus|turbo|flash)", "Qwen (hosted)", "hermes", large=True),
    _family_row("qwen", "Qwen", "hermes"),
    _family_row("gpt oss", "gpt-oss", "harmony", thinks=True),
    _family_row("llama 4 scout", "Llama 4 Scout", "pythonic", billions=109),
    _family_row("llama 4 maverick", "Llama 4 Maverick", "pythonic", billions=400),
    _family_row("llama 4", "Llama 4", "pythonic"),
    _family_row(r"llama 3\.2(?!.*vision)", "Llama 3.2", "pythonic"),
    _family_row(r"llama 3\.[1-9]", "Llama 3", "llama3_json"),
    _family_row("magistral", "Magistral", "mistral", thinks=True, billions=24),
    _family_row("devstral", "Devstral", "mistral"),
    _family_row("mistral nemo", "Mistral Nemo", "mistral", billions=12),
    _family_row("mistral small", "Mistral Small", "mistral", billions=24),
    _family_row("mistral large", "Mistral Large", "mistral", billions=123),
    _family_row("mistral medium", "Mistral Medium", "mistral", large=True),
    _family_row("[a-z]*stral|mi[sx]tral", "Mistral", "mistral"),
    _family_row("phi 4 mini reasoning|phi 4 mini flash reasoning", "Phi-4-mini-reasoning", thinks=True, billions=3.8),
    _family_row("phi 4 mini", "Phi-4-mini", "json_phi4mini", billions=3.8),
    _family_row("phi 4.*reasoning", "Phi-4-reasoning", thinks=True, billions=14),
    _family_row("phi 4", "Phi-4", billions=14),
    _family_row(r"phi 3(?:\.5)? mini", "Phi-3-mini", billions=3.8),
    _family_row(r"phi 3(?:\.5)? medium", "Phi-3-medium", billions=14),
    _family_row("granite.*function", "Granite 20B functioncalling", "granite_20b"),
    _family_row("granite 3", "Granite 3", "granite3"),
    _family_row("granite 4", "Granite 4", "hermes"),
    _family_row(r"glm 4\.7 flash", "GLM-4.7-Flash", "glm47", thinks=True, billions=30),
    _family_row(r"glm (?:4\.7|5)", "GLM-4.7", "glm47", thinks=True, billions=355),
    _family_row(r"glm 4\.5 air", "GLM-4.5-Air", "glm45", thinks=True, billions=106),
    _family_row(r"glm 4\.[56]", "GLM-4.5", "glm45", thinks=True, billions=355),
    _family_row("deepseek v4", "DeepSeek V4", "deepseek_v4", thinks=True, large=True),
    _family_row(r"deepseek v3\.2", "DeepSeek V3.2", "deepseek_v32", thinks=True, billions=671),
    _family_row(r"deepseek v3\.1", "DeepSeek V3.1", "deepseek_v31", thinks=True, billions=671),
    _family_row("deepseek v3", "DeepSeek V3", "deepseek_v3", billions=671),
    # Under this name the large one and its small distillates are served alike: the size must be told.
    _family_row("deepseek r1", "DeepSeek R1", "deepseek_v3", tools=False, thinks=True),
    _family_row("deepseek reasoner", "DeepSeek (hosted)", "deepseek_v32", thinks=True, large=True),
    _family_row("deepseek chat", "DeepSeek (hosted)", "deepseek_v32", large=True),
    _family_row("kimi k3", "Kimi K3", "kimi_k3", thinks=True, large=True),
    _family_row("kimi k2 thinking", "Kimi K2 Thinking", "kimi_k2", thinks=True, billions=1000),
    _family_row("kimi k2", "Kimi K2", "kimi_k2", billions=1000),
    _family_row("minimax m3", "MiniMax M3", "minimax_m3", thinks=True, large=True),
    _family_row("minimax m2", "MiniMax M2", "minimax_m2", thinks=True, billions=230),
    _family_row("seed oss", "Seed-OSS", "seed_oss", thinks=True),
    _family_row("lfm 2", "LFM2", "pythonic_lfm2"),
    _family_row("olmo 3", "OLMo 3", "pythonic_olmo3"),
    _family_row("command r plus", "Command R+", "cohere", billions=104),
    _family_row("command r 7b", "Command R7B", "cohere", billions=7),
    _family_row("command r", "Command R", "cohere", billions=35),
    _family_row("command a", "Command A", "cohere", billions=111),
    _family_row("c4ai|aya expanse", "Cohere", "cohere"),
    _family_row("nemotron.*nano.*v2|nemotron nano [0-9]+b v2", "Nemotron Nano v2", "nemotron_v2", thinks=True),
    _family_row("nemotron 3", "Nemotron 3", "qwen3_coder", thinks=True),
    _family_row("internlm", "InternLM", "json_internlm2"),
    _family_row("jamba", "Jamba", "json_jamba"),
    _family_row("apriel", "Apriel", "apriel", thinks=True),
    _family_row("apertus", "Apertus", "json_apertus"),
    _family_row("longcat", "LongCat", "hermes_longcat", large=True),
    _family_row("hunyuan", "Hunyuan", "hunyuan"),
    _family_row(r"step 3\.5", "Step 3.5", "qwen3_coder", thinks=True),
    _family_row("step 3", "Step 3", "step3", thinks=True),
    _family_row(r"ernie 4\.?5", "ERNIE 4.5", "ernie45"),
    _family_row("gigachat 3", "GigaChat 3", "gigachat3"),
    _family_row("minicpm 5", "MiniCPM 5", "minicpm5"),
    _family_row("mimo", "MiMo", "hermes", thinks=True),
    _family_row("smollm 3", "SmolLM3", "hermes", thinks=True, billions=3),
    _family_row("gpt 5|o[134](?![a-z0-9.])", "OpenAI reasoning models", thinks=True, large=True),
    _family_row("gpt 4|chatgpt", "GPT-4", large=True),
    _family_row("claude", "Claude", large=True),
    _family_row("gemini", "Gemini", thinks=True, large=True),
    _family_row("grok", "Grok", large=True),
)


@lru_cache(maxsize=256)
def find_family(name: str) -> Family:
    """By the name as servers write it, with or without an owner before it and a tag behind it."""
    text = name.casefold()[:256]
    return next((family for pattern, family in _FAMILIES if pattern.search(text) is not None), UNKNOWN_FAMILY)


def families() -> tuple[Family, ...]:
    return tuple(family for _, family in _FAMILIES)
