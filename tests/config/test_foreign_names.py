"""Names of Plugable and mcpproxy get a hint with ours, wherever they are written."""

import re

import pytest
from tests.config.loading import problems, settings
from tests.support.collect_failures import each_case

from pegboard.config.keys.root import PEGBOARD, SERVER
from pegboard.config.schema.fields import MapField
from pegboard.config.schema.section import ConfigSection
from pegboard.core.model.foreign_names import (
    ABSENT_TOOLS,
    FORMATS,
    MCPPROXY_SERVER,
    MCPPROXY_SETTINGS,
    PLUGABLE_SETTINGS,
    TOOLS,
    argument_hints,
    near_tools,
    same_but_spelling,
)
from pegboard.core.model.settings import CODE_MODE, FAMILY, NATIVE, TEXT_FORMATS
from pegboard.core.presentations.builtins import BUILTIN_TOOLS
from pegboard.core.presentations.costs import PRESENTATION_TOOLS

OURS = re.compile(r"'([a-z_.]+)(?:: \w+)?'")


def is_key(path: str, section: ConfigSection) -> bool:
    name, _, rest = path.partition(".")
    key = next((each for each in section.keys if each.name == name), None)
    if key is None:
        return False
    shape = key.field_type.item if isinstance(key.field_type, MapField) else key.field_type
    return not rest or (isinstance(shape, ConfigSection) and is_key(rest, shape))


@pytest.mark.behaviour("names.of_other_programs")
@each_case("name", [*PLUGABLE_SETTINGS, *MCPPROXY_SETTINGS])
def test_a_setting_of_another_program_is_told_with_ours_which_there_is(name: str) -> None:
    hint = {**MCPPROXY_SETTINGS, **PLUGABLE_SETTINGS}[name]
    assert problems(f"{name}: x\n") == [f"pegboard.yaml:1: {name}: unknown key. {hint}"]
    paths = [path for path in OURS.findall(hint) if " of a server" not in hint]
    assert [path for path in paths if not is_key(path, PEGBOARD)] == []


@pytest.mark.behaviour("names.of_other_programs")
@pytest.mark.parametrize("name", MCPPROXY_SERVER)
def test_so_is_one_of_a_server(name: str) -> None:
    said = problems(f"servers:\n  one:\n    command: x\n    {name}: y\n")
    assert said == [f"pegboard.yaml:4: servers.one.{name}: unknown key. {MCPPROXY_SERVER[name]}"]
    assert [path for path in OURS.findall(MCPPROXY_SERVER[name]) if not is_key(path, SERVER)] == []


@pytest.mark.behaviour("names.of_other_programs")
def test_the_protocol_of_mcpproxy_is_our_transport() -> None:
    [said] = problems("servers:\n  one:\n    url: http://x.example/mcp\n    protocol: http\n")
    assert said.endswith("this must be one of latest, handshake; it is 'http'. Did you mean transport: http?")


@pytest.mark.behaviour("names.of_other_programs")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prompts: {tool_call_formats: x}", "unknown key. Did you mean 'formats' and 'primary'?"),
        ("prompts: {builtins: [schema_search]}", "it is 'schema_search'. Did you mean 'search_schemas'?"),
        ("prompts: {builtins: [sql_select]}", "it is 'sql_select'. Did you mean 'execute_sql'?"),
        ("prompts: {builtins: [ToolSearch]}", "it is 'ToolSearch'. Did you mean 'tool_search'?"),
        ("prompts: {primary: HERMES}", "it is 'HERMES'. Did you mean 'hermes'?"),
        ("prompts: {primary: PURE_JSON}", "it is 'PURE_JSON'. Did you mean 'json'?"),
        ("prompts: {formats: [hermess]}", "it is 'hermess'. Did you mean 'hermes'?"),
        ("models: {x: {format: Hermess}}", "it is 'Hermess'. Did you mean 'hermes'?"),
        (
            "prompts: {tool_search_max_results: 3}",
            "unknown key. The size of a model decides how many tools it is shown: see 'models'.",
        ),
    ],
)
def test_names_under_prompts_are_told_with_ours(text: str, said: str) -> None:
    [problem] = problems(text)
    assert problem.endswith(said)


@pytest.mark.behaviour("names.of_other_programs")
@each_case(
    ("written", "name"),
    [
        *((name, name) for name in (NATIVE, FAMILY, *TEXT_FORMATS, CODE_MODE)),
        ("Native", "native"),
        ("CodeMode", "codemode"),
        ("code_mode", "codemode"),
        ("Hermes", "hermes"),
        ("Mistral", "mistral"),
        ("Pythonic", "pythonic"),
        ("PureJson", "json"),
        ("pure_json", "json"),
    ],
)
def test_a_format_is_taken_by_each_of_its_names(written: str, name: str) -> None:
    prompting = settings(f"prompts: {{formats: [{written}], primary: {written}}}").declared.prompts
    assert (prompting.formats, prompting.primary) == ((name,), name)
    assert FORMATS[written] == name


@pytest.mark.behaviour("names.of_other_programs")
@pytest.mark.parametrize(
    "name",
    [
        *("top_k", "allow_server_add", "max_result_size_chars", "docker_recovery"),
        *("registries", "telemetry", "instructions", "environment"),
    ],
)
def test_no_setting_of_mcpproxy_is_met_with_a_list_of_ours(name: str) -> None:
    [problem] = problems(f"{name}: x\n")
    assert "Known here:" not in problem
    assert re.search(r"unknown key\. (Did you mean '|Leave it out: |A caller says it)", problem)


@pytest.mark.behaviour("names.of_other_programs")
@each_case(
    ("tool", "sent", "hint"),
    [
        ("describe_tool", "name", "Did you mean 'names'? It is a list."),
        ("describe_tool", "tool_id", "Did you mean 'names'? It is a list."),
        ("retrieve_tools", "k", "Did you mean 'limit'?"),
        ("list_tools", "name", "Did you mean 'toolset'?"),
        ("get_tool_input_schema", "name", "Did you mean 'tool'?"),
        ("get_tool_output_schema", "tool_name", "Did you mean 'tool'?"),
    ],
)
def test_an_argument_of_another_program_is_told_with_ours(tool: str, sent: str, hint: str) -> None:
    known = {
        name: own.spec.input_schema["properties"]
        for tools in PRESENTATION_TOOLS.values()
        for name, own in tools.items()
    }
    properties = known[tool]
    assert isinstance(properties, dict)
    assert argument_hints(tool, [sent], properties) == (f"{sent}: {hint}",)


@pytest.mark.behaviour("names.of_other_programs")
def test_a_tool_that_mcpproxy_alone_has_is_told_with_what_to_do() -> None:
    assert near_tools("code_execution", ["echo", "python_execution"]) == (("python_execution",), "")
    assert near_tools("code_execution", ["echo"]) == ((), "Programs are run with python_execution, at /mcp/code.")
    assert near_tools("read_cache", ["read_cached"]) == ((), ABSENT_TOOLS["read_cache"])
    assert near_tools("ehco", ["echo"]) == (("echo",), "")
    assert BUILTIN_TOOLS.isdisjoint(ABSENT_TOOLS)


@pytest.mark.behaviour("names.of_other_programs")
def test_hints_are_for_tools_and_arguments_that_there_are() -> None:
    assert {*TOOLS.values()} <= BUILTIN_TOOLS
    assert BUILTIN_TOOLS.isdisjoint(TOOLS)
    known = {
        name: tool.spec.input_schema["properties"] for own in PRESENTATION_TOOLS.values() for name, tool in own.items()
    }
    assert argument_hints("describe_tool", ["tool_ids"], known["describe_tool"]) == (  # type: ignore[arg-type]
        "tool_ids: Did you mean 'names'?",
    )
    assert argument_hints("call_tool", ["name", "args"], ["name", "arguments"]) == ("args: Did you mean 'arguments'?",)
    assert argument_hints("call_tool", ["tool", "args"], ["tool", "input"]) == ("args: Did you mean 'input'?",)
    assert argument_hints("retrieve_tools", ["includeDisabled"], ["include_disabled"]) == (
        "includeDisabled: Did you mean 'include_disabled'?",
    )
    assert argument_hints("retrieve_tools", ["query", "colour"], ["query"]) == ()
    assert same_but_spelling("Pure-JSON", ["json", "pure_json"]) == "pure_json"
