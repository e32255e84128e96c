"""What is known of a model by its name, its server and the operator's word: size, format, native calls, thinking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.json.values import Json
from pegboard.core.model.settings import TEXT_FORMATS, KnownModel
from pegboard.prompts.model import Model, billions_in_metadata, families, model_facts, size_in_name


@pytest.mark.behaviour("model.size_from_name")
@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("qwen3:1.7b", 1.7),
        ("qwen3:0.6b-q8_0", 0.6),
        ("Llama-3.3-70B-Instruct", 70),
        ("meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", 405),
        ("8x7b", 56),
        ("mistralai/Mixtral-8x22B-Instruct-v0.1", 176),
        ("gpt-oss:20b", 20),
        ("openai/gpt-oss-120b", 120),
        ("smollm2:135m", 0.135),
        ("SmolLM2-360M-Instruct", 0.36),
        ("gemma3n:e4b", 4),
        ("gemma-3-27b-it-q4_0", 27),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", 30),
        ("qwen2.5-14b-instruct-1m", 14),
        ("qwen2.5-coder-32b-instruct-q4_k_m.gguf", 32),
        ("llama-3-8b-gradient-1048k", 8),
        ("hermes_3_8b", 8),
        ("big-model-1.5T", 1500),
        ("bitnet-b1.58-2B-4T", 2),
        ("a model of 7b", 7),
    ],
)
def test_the_size_is_read_out_of_the_name(name: str, billions: float) -> None:
    assert size_in_name(name) == pytest.approx(billions)


@pytest.mark.behaviour("model.size_from_name")
@pytest.mark.parametrize(
    "name",
    [
        *("", "llama3.1", "mistral:latest", "phi-4-mini", "model-v2", "gpt-4o", "claude-sonnet-4", "foo-4bit"),
        *("foo-w4a16", "foo-int8", "model-a3b", "model-1m", "model-128k", "Llama-4-Scout-17B-16E-Instruct", "q4_k_m"),
        *("0b", "b", "x" * 10_000, "9" * 400 + "b"),
    ],
)
def test_what_is_no_size_is_not_taken_for_one(name: str) -> None:
    assert size_in_name(name) is None


@pytest.mark.behaviour("model.size_from_name")
@pytest.mark.parametrize(
    ("told", "billions"),
    [
        ({"details": {"parameter_size": "8.0B"}}, 8),
        ({"details": {"parameter_size": "494.03M"}}, 0.49403),
        ({"model_info": {"general.parameter_count": 8_030_261_248}}, 8.03),
        ({"meta": {"n_params": 494_032_768}}, 0.494),
        ({"safetensors": {"total": 70_553_706_496}}, 70.554),
        ({"parameters": "70b"}, 70),
        ({"params": 7}, 7),
        ({"parameter_size": "large"}, None),
        ({"parameter_size": None, "params": True, "details": []}, None),
        ({"params": -1}, None),
        ({"params": float("nan")}, None),
        ({}, None),
    ],
)
def test_the_size_is_read_out_of_what_the_server_tells(told: dict[str, Json], billions: float | None) -> None:
    assert billions_in_metadata(told) == (None if billions is None else pytest.approx(billions))


@pytest.mark.behaviour("model.facts")
@pytest.mark.parametrize(
    ("name", "family", "format", "calls", "thinks", "billions", "most"),
    [
        ("qwen3:1.7b", "Qwen3", "hermes", True, True, 1.7, 2),
        ("qwen3-coder:30b", "Qwen3-Coder", "qwen3_coder", True, False, 30, 5),
        ("Qwen3-4B-Instruct-2507", "Qwen3-Instruct", "hermes", True, False, 4, 2),
        ("Llama-3.3-70B-Instruct", "Llama 3", "llama3_json", True, False, 70, 10),
        ("llama3.2:3b", "Llama 3.2", "pythonic", True, False, 3, 2),
        ("Llama-3.2-11B-Vision-Instruct", "Llama 3", "llama3_json", True, False, 11, 5),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "Llama 4 Scout", "pythonic", True, False, 109, 10),
        ("mixtral:8x7b", "Mistral", "mistral", True, False, 56, 10),
        ("mistral-nemo", "Mistral Nemo", "mistral", True, False, 12, 5),
        ("phi-4-mini", "Phi-4-mini", "json_phi4mini", True, False, 3.8, 2),
        ("phi3:mini", "Phi-3-mini", "", False, False, 3.8, 2),
        ("phi4", "Phi-4", "", False, False, 14, 5),
        ("gpt-oss:20b", "gpt-oss", "harmony", True, True, 20, 5),
        ("gemma-3-4b-it", "Gemma 3", "pythonic", False, False, 4, 2),
        ("granite3.3:8b", "Granite 3", "granite3", True, False, 8, 5),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "Hermes", "hermes", True, False, 8, 5),
        ("deepseek-r1:7b", "DeepSeek R1", "deepseek_v3", False, True, 7, 5),
        ("DeepSeek-R1-Distill-Qwen-32B", "DeepSeek-R1-Distill", "", False, True, 32, 10),
        ("deepseek-v3.1", "DeepSeek V3.1", "deepseek_v31", True, True, 671, 10),
        ("GLM-4.5-Air-FP8", "GLM-4.5-Air", "glm45", True, True, 106, 10),
        ("kimi-k2-instruct", "Kimi K2", "kimi_k2", True, False, 1000, 10),
        ("LiquidAI/LFM2-1.2B", "LFM2", "pythonic_lfm2", True, False, 1.2, 2),
        ("gpt-4o-mini", "GPT-4", "", True, False, None, 10),
        ("o3", "OpenAI reasoning models", "", True, True, None, 10),
        ("nobody-knows", "", "", False, False, None, 2),
        ("nobody-knows:13b", "", "", False, False, 13, 5),
    ],
)
def test_a_model_is_known_by_its_name(
    name: str, family: str, format: str, calls: bool, thinks: bool, billions: float | None, most: int
) -> None:
    model = model_facts(name)
    found = (model.family, model.format, model.tool_calling, model.thinking, model.billions, model.max_found_tools)
    assert found == (family, format, calls, thinks, billions, most)


@pytest.mark.behaviour("model.facts", "model.table")
def test_the_operators_word_goes_before_the_servers_and_that_before_the_name() -> None:
    told: dict[str, Json] = {"details": {"parameter_size": "9B"}, "capabilities": ["completion", "tools", "thinking"]}
    served = model_facts("gemma-3-4b-it", told)
    assert (served.billions, served.tool_calling, served.thinking) == (9, True, True)
    rows = (KnownModel("GEMMA-3*", billions=40, format="hermes"), KnownModel("*", tool_calling=False, billions=1))
    ours = model_facts("gemma-3-4b-it", told, rows)
    assert ours == Model(
        billions=40,
        name="gemma-3-4b-it",
        tool_calling=False,
        family="Gemma 3",
        format="hermes",
        thinking=True,
        fact_sources=(
            "Size: 40 billion, as models says for 'GEMMA-3*, *'.",
            "Native tool calling: no, as models says for 'GEMMA-3*, *'.",
            "Format: hermes, as models says for 'GEMMA-3*, *'.",
            "Thinks aloud: yes, as its server tells.",
        ),
    )


@pytest.mark.behaviour("model.facts")
def test_what_nobody_knows_is_said_to_be_unknown_and_small() -> None:
    model = model_facts("nobody-knows")
    assert (model.max_found_tools, model.fact_sources) == (
        2,
        (
            "Size: unknown, so it is taken for a small one. Say it under models in pegboard.yaml.",
            "Native tool calling: no, because nothing is known of its family.",
            "Format: none is known to be its own.",
            "Thinks aloud: no, because nothing is known of its family.",
        ),
    )
    hosted = model_facts("claude-sonnet-4")
    assert hosted.size_description == "the model is a large one, though its maker tells no number of parameters"


@pytest.mark.parametrize("flag", ["supportsToolCalling", "tool_calling", "tools"])
def test_a_server_may_tell_by_a_flag_that_a_model_calls_tools(flag: str) -> None:
    assert model_facts("nobody-knows", {flag: True}).tool_calling
    assert not model_facts("qwen3:8b", {"details": {flag: False}}).tool_calling


def test_every_family_writes_a_format_that_exists() -> None:
    assert {family.format for family in families()} - {""} <= {*TEXT_FORMATS}


@given(st.text(max_size=40), st.dictionaries(st.sampled_from(["details", "params", "meta", "capabilities"]), st.none()))
def test_any_name_and_anything_a_server_tells_gives_facts(name: str, told: dict[str, Json]) -> None:
    model = model_facts(name, told)
    assert model.max_found_tools in (2, 5, 10)
    assert len(model.fact_sources) == 4
