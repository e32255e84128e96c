"""What models are told, as the file says it."""

import pytest
from tests.config.loading import problems, settings

from pegboard.core.model.patterns import Allowance, LaunchFilter, Pattern
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.settings import BUILTINS, DEFAULT_BASE_PROMPT, DEFAULT_FORMATS, KnownModel, PromptSettings

FILE = "pegboard.yaml"


@pytest.mark.behaviour("prompt.base_from_settings", "builtins.four_in_one_list", "model.table", "filter.in_settings")
def test_all_that_is_said_about_prompts_and_models_is_read() -> None:
    text = """\
        prompts:
          base: Be brief.
          builtins: [tool_search, execute_sql, tool_search]
          formats: [pure_json, native, code_mode]
          primary: family
          budget: 900
          result_limit: 500
          run_recovered_calls: true
          filter:
            allow_builtins: ["tool_*"]
            allow_servers: [github, dev~files]
            deny_servers: ["db-*"]
            allow_tools: []
            deny_tools: ["*:delete_*", write]
        models:
          "house-*": {parameters: 1.7b, tool_calling: true, format: hermes, thinking: false, opens_thinking: true}
          tiny: {parameters: 300M}
          huge: {parameters: 2T}
          plain: {parameters: 12}
          said: {}
        """
    assert settings(text).declared.prompts == PromptSettings(
        base="Be brief.",
        builtins=("tool_search", "execute_sql"),
        formats=("json", "native", "codemode"),
        primary="family",
        launch=LaunchFilter(
            builtins=Allowance((Pattern("builtin", "tool_*"),)),
            servers=Allowance((Pattern("github", "*"), Pattern("dev~files", "*")), (Pattern("db-*", "*"),)),
            tools=Allowance((), (Pattern("*", "delete_*"), Pattern("*", "write"))),
        ),
        budget=900,
        result=500,
        run_recovered=True,
        models=(
            KnownModel("house-*", 1.7, True, "hermes", False, True, DeclaredAt(FILE, 16)),
            KnownModel("tiny", 0.3, at=DeclaredAt(FILE, 17)),
            KnownModel("huge", 2000, at=DeclaredAt(FILE, 18)),
            KnownModel("plain", 12, at=DeclaredAt(FILE, 19)),
            KnownModel("said", at=DeclaredAt(FILE, 20)),
        ),
    )


@pytest.mark.behaviour("prompt.base_from_settings", "builtins.four_in_one_list")
@pytest.mark.parametrize("text", ["", "prompts:", "prompts: {}\nmodels:", "prompts: {filter: {}}"])
def test_what_nobody_says_is_as_usual(text: str) -> None:
    told = settings(text).declared.prompts
    assert told == PromptSettings()
    assert (told.base, told.builtins, told.formats) == (DEFAULT_BASE_PROMPT, BUILTINS, DEFAULT_FORMATS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("prompts: {builtins: [search]}", "prompts.builtins[0]: this must be one of python_execution, tool_search, "),
        ("prompts: {builtins: }", "prompts.builtins: this has no value. Write [] for none"),
        ("prompts: {formats: [xml]}", "prompts.formats[0]: this must be one of native, family, hermes"),
        ("prompts: {primary: xml}", "prompts.primary: this must be one of native, family, hermes"),
        ("prompts: {budget: 10}", "prompts.budget: this must be a whole number from 200 to 1000000"),
        ("prompts: {result_limit: 1}", "prompts.result_limit: this must be a whole number from 200 "),
        ("prompts: {enabled_builtins: []}", "prompts.enabled_builtins: unknown key. Did you mean 'builtins'?"),
        ("prompts: {filter: {allow_servers: ['a:b']}}", "prompts.filter.allow_servers[0]: 'a:b' does not fit: "),
        ("prompts: {filter: {deny_tools: ['']}}", "prompts.filter.deny_tools[0]: '' does not fit: write scope:name"),
        ("prompts: {filter: {tools: []}}", "prompts.filter.tools: unknown key. "),
        ("models: {m: {parameters: large}}", "models.m.parameters: 'large' does not fit: write how many, such as 8b"),
        ("models: {m: {parameters: 0b}}", "models.m.parameters: '0b' does not fit: "),
        ("models: {m: {format: native}}", "models.m.format: this must be one of hermes"),
        ("models: {m: {size: 8b}}", "models.m.size: unknown key. Write parameters."),
    ],
)
def test_what_is_wrong_about_prompts_is_told(text: str, problem: str) -> None:
    assert problems(text)[0].startswith(f"{FILE}:1: {problem}")


@pytest.mark.behaviour("prompt.budget")
def test_a_base_prompt_that_is_over_the_budget_by_itself_is_refused() -> None:
    (told,) = problems(f"prompts:\n  budget: 200\n  base: {'word ' * 300}\n")
    assert (
        told == f"{FILE}:1: prompts.base: it costs 315 tokens, and budget allows 200. Shorten it, or raise the budget."
    )
