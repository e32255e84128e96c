"""Model families and what each was trained to write. `models` in pegboard.yaml adds to it.

Who knows better says so under `models` in pegboard.yaml.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from pegboard.core.json.values import Json
from pegboard.core.model.settings import KnownModel

# How many parameters a model has: read out of its name, or out of what its server tells of it.

_NUMBER: Final = r"[0-9]{1,6}(?:\.[0-9]{1,4})?"
_MIXTURE: Final = re.compile(rf"(?<![0-9a-z.])([0-9]{{1,3}})x({_NUMBER})b(?![0-9a-z])")
# A letter before it makes it another thing: a3b are the parameters at work, v2b is a version. Only e4b, the effective
# ones, count as a size. 17b-16e are the parameters at work beside sixteen experts.
_PLAIN: Final = re.compile(
    rf"(?:(?<![0-9a-z.])|(?<=(?<![0-9a-z])e))({_NUMBER})([bmt])(?![0-9a-z])(?![-_][0-9]+e(?![0-9a-z]))"
)
_UNITS: Final = {"m": 0.001, "b": 1.0, "t": 1000.0}
_MIN_MILLIONS: Final = 10
"""1m is a length of context."""
_MAX_BILLIONS: Final = 100_000.0
_COUNTS: Final = (
    "parameter_count",
    "general.parameter_count",
    "num_parameters",
    "n_params",
    "params",
    "total_parameters",
)
_SIZES: Final = ("parameter_size", "parameters", "size_label", "general.size_label")
_NESTED_KEYS: Final = ("details", "model_info", "meta", "safetensors")


def size_in_name(name: str) -> float | None:
    """Billions. `None` where the name tells none; what is no size (a version, a quantisation, a length of context, the
    parameters at work of a mixture) is not taken for one."""
    text = name.casefold()
    mixed = [int(each[1]) * float(each[2]) for each in _MIXTURE.finditer(text)]
    found = [*_PLAIN.finditer(text)]
    # Beside a size in billions, trillions are the tokens that it was trained on.
    tokens = "t" if mixed or any(each[2] == "b" for each in found) else ""
    plain = [
        float(each[1]) * _UNITS[each[2]]
        for each in found
        if each[2] != tokens and (each[2] != "m" or float(each[1]) >= _MIN_MILLIONS)
    ]
    # Of several the largest: a draft model or a length of context may stand beside it.
    return max((size for size in (*mixed, *plain) if 0 < size < _MAX_BILLIONS), default=None)


def billions_in_metadata(told: Mapping[str, Json]) -> float | None:
    """Billions, by the places in which model servers write it."""
    places = [told, *(inner for key in _NESTED_KEYS if isinstance(inner := told.get(key), Mapping))]
    for place in places:
        for key in _COUNTS:
            if (found := _billions_of_count(place.get(key))) is not None:
                return found
        if (
            isinstance(total := place.get("total"), int)
            and place is not told
            and (found := _billions_of_count(total)) is not None
        ):
            return found
        for key in _SIZES:
            if isinstance(text := place.get(key), str) and (found := _billions_of_text(text)) is not None:
                return found
    return None


def _billions_of_count(value: Json) -> float | None:
    """A bare number: of parameters, or of billions where it is too small to be that."""
    if isinstance(value, str):
        return _billions_of_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        return None
    billions = value / 1e9 if value >= 1e5 else float(value)
    return round(billions, 3) if billions < _MAX_BILLIONS else None


def _billions_of_text(text: str) -> float | None:
    return size_in_name(text.strip().replace(" ", "").replace(",", "."))


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


# Facts about a model that decide what it is told: its size, its family, and what it was trained to write.

MEDIUM_BILLIONS: Final = 7.0
LARGE_BILLIONS: Final = 30.0
FEW, SOME, MANY = 2, 5, 10


@dataclass(frozen=True, slots=True)
class Model:
    billions: float | None = None
    """Of parameters; `None` where nobody knows."""
    name: str = ""
    tool_calling: bool = False
    """Whether its server takes a `tools` array for it and gives back calls."""
    family: str = ""
    format: str = ""
    """The one that it was trained on; empty where nobody knows."""
    thinking: bool = False
    """Whether it thinks aloud before it answers."""
    opens_thinking: bool = False
    """Whether its prompt opens its thinking, so that what it writes begins inside."""
    is_large: bool = False
    """Known to be a large one whose size its maker does not tell."""
    fact_sources: tuple[str, ...] = ()
    """Where each fact is from, a sentence each."""

    @property
    def max_found_tools(self) -> int:
        """How many tools that a search found it is shown: a small model loses its way among many."""
        if self.billions is None:
            return MANY if self.is_large else FEW
        if self.billions < MEDIUM_BILLIONS:
            return FEW
        return SOME if self.billions <= LARGE_BILLIONS else MANY

    @property
    def size_description(self) -> str:
        """In a clause, for whoever asks why it is shown that many."""
        if self.billions is None and self.is_large:
            return "the model is a large one, though its maker tells no number of parameters"
        if self.billions is None:
            return "the size of the model is unknown, so it is taken for a small one"
        told = f"the model has {self.billions:g} billion parameters"
        if self.billions < MEDIUM_BILLIONS:
            return f"{told}, fewer than {MEDIUM_BILLIONS:g}"
        return (
            f"{told}, {MEDIUM_BILLIONS:g} to {LARGE_BILLIONS:g}"
            if self.billions <= LARGE_BILLIONS
            else f"{told}, more than {LARGE_BILLIONS:g}"
        )


def model_facts(name: str, metadata: Mapping[str, Json] | None = None, known: Sequence[KnownModel] = ()) -> Model:
    """What can be known of a model by its name. The operator's word goes first, then what its server tells of it
    (`metadata`, as model servers write it), then its name, then its family."""
    told, family = metadata or {}, find_family(name)
    said = _operator_facts(name, known)
    billions, sized = _billions_fact(name, told, said, family)
    tool_calling, calls = _tool_calling_fact(told, said, family)
    thinking, thinks = _thinking_fact(told, said, family)
    format, written = _format_fact(said, family)
    return Model(
        billions=billions,
        name=name,
        tool_calling=tool_calling,
        family=family.name,
        format=format,
        thinking=thinking,
        opens_thinking=bool(said.opens_thinking),
        is_large=billions is None and family.is_large,
        fact_sources=(sized, calls, written, thinks),
    )


def _operator_facts(name: str, known: Sequence[KnownModel]) -> KnownModel:
    """Fact by fact the first row that tells it, so that a narrow pattern above a wide one has its say."""
    fitting = [row for row in known if fnmatchcase(name.casefold(), row.pattern.casefold())]

    def first(fact: str) -> object:
        return next((value for row in fitting if (value := getattr(row, fact)) is not None), None)

    pattern = ", ".join(row.pattern for row in fitting)
    facts = ("billions", "tool_calling", "format", "thinking", "opens_thinking")
    return KnownModel(pattern, *(first(fact) for fact in facts))  # type: ignore[arg-type]  # each of its own field


def _billions_fact(name: str, told: Mapping[str, Json], said: KnownModel, family: Family) -> tuple[float | None, str]:
    if said.billions is not None:
        return said.billions, f"Size: {said.billions:g} billion, as models says for {said.pattern!r}."
    if (served := billions_in_metadata(told)) is not None:
        return served, f"Size: {served:g} billion, as its server tells."
    if (written := size_in_name(name)) is not None:
        return written, f"Size: {written:g} billion, by its name."
    if family.billions is not None:
        return family.billions, f"Size: {family.billions:g} billion, as {family.name} has."
    if family.is_large:
        return None, f"Size: {family.name} is large; its maker tells no number."
    return None, "Size: unknown, so it is taken for a small one. Say it under models in pegboard.yaml."


def _tool_calling_fact(told: Mapping[str, Json], said: KnownModel, family: Family) -> tuple[bool, str]:
    if said.tool_calling is not None:
        return (
            said.tool_calling,
            f"Native tool calling: {_yes_or_no(said.tool_calling)}, as models says for {said.pattern!r}.",
        )
    if (served := _server_flag(told, "tools", "supportsToolCalling", "tool_calling")) is not None:
        return served, f"Native tool calling: {_yes_or_no(served)}, as its server tells."
    where = f"as {family.name} is known" if family.name else "because nothing is known of its family"
    return family.tool_calling, f"Native tool calling: {_yes_or_no(family.tool_calling)}, {where}."


def _thinking_fact(told: Mapping[str, Json], said: KnownModel, family: Family) -> tuple[bool, str]:
    if said.thinking is not None:
        return said.thinking, f"Thinks aloud: {_yes_or_no(said.thinking)}, as models says for {said.pattern!r}."
    if (served := _server_flag(told, "thinking", "reasoning", "supportsReasoning")) is not None:
        return served, f"Thinks aloud: {_yes_or_no(served)}, as its server tells."
    where = f"as {family.name} is known" if family.name else "because nothing is known of its family"
    return family.thinking, f"Thinks aloud: {_yes_or_no(family.thinking)}, {where}."


def _format_fact(said: KnownModel, family: Family) -> tuple[str, str]:
    if said.format is not None:
        return said.format, f"Format: {said.format}, as models says for {said.pattern!r}."
    if family.format:
        return family.format, f"Format: {family.format}, which {family.name} was trained on."
    return "", "Format: none is known to be its own."


def _server_flag(told: Mapping[str, Json], word: str, *flags: str) -> bool | None:
    """By a list of capabilities, or by a flag of its own; both occur among model servers."""
    for place in (told, told.get("details"), told.get("meta")):
        if not isinstance(place, Mapping):
            continue
        if isinstance(listed := place.get("capabilities"), list):
            return word in listed
        for flag in (word, *flags):
            if isinstance(value := place.get(flag), bool):
                return value
    return None


def _yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"
