"""What a model would be sent of a real board: capabilities, the search, the prompt, in this order."""

from dataclasses import replace

import pytest
from tests.surfaces.mcp.workshop import DECLARED, HERE, key, open_workshop

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.decision.resolve import OpenTool
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.patterns import Allowance, LaunchFilter, Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID, PinnedEntry, PresentationSettings, PromptSettings, PythonSandbox
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.own_tools import MaterializedTools
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.ports.sandbox import Sandbox, SandboxUnavailable
from pegboard.prompts.model import Model
from pegboard.prompts.request import chat_request
from pegboard.prompts.tool_search import SearchStep
from pegboard.prompts.tool_shape import ToolShape
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

pytestmark = pytest.mark.anyio
CREATE_FILE, CREATE_FOLDER = ToolId(key("files"), "create_file"), ToolId(key("folders"), "create_folder")
SAID = "Please create a file and a folder"
NATIVE = Model(3, name="m", tool_calling=True)


@pytest.mark.behaviour("prompt.flow_order", "autosearch.found_tools_enter_the_prompt", "prompt.capabilities")
async def test_what_the_search_finds_is_in_the_prompt_and_in_the_request() -> None:
    async with open_workshop() as workshop:
        made = await workshop.gateway.prompts.prompt(View(), NATIVE, SAID)
    names = [shape.name for shape in made.prompt.shapes]
    assert [names[0], {*names[1:]}] == ["tool_search", {"create_file", "create_folder"}]
    assert made.automatic.has_run
    body = chat_request(made.prompt, [{"role": "user", "content": SAID}])
    tools = body["tools"]
    assert isinstance(tools, list)
    assert [tool["function"]["name"] for tool in tools if isinstance(tool, dict)] == names  # type: ignore[index, call-overload]


@pytest.mark.behaviour("prompt.flow_order", "filter.builtin_allowed")
@pytest.mark.parametrize(
    ("settings", "launch", "why"),
    [
        (PromptSettings(builtins=()), LaunchFilter(), "it is not among prompts.builtins"),
        (
            PromptSettings(),
            LaunchFilter(builtins=Allowance(())),
            "the launch filter allows others: nothing under allow_builtins fits it",
        ),
        (
            PromptSettings(launch=LaunchFilter(builtins=Allowance(deny=(Pattern("builtin", "tool_*"),)))),
            LaunchFilter(),
            "the launch filter denies it: 'tool_*' under deny_builtins",
        ),
    ],
)
async def test_capabilities_come_first_so_that_nothing_is_searched_without_tool_search(
    settings: PromptSettings, launch: LaunchFilter, why: str
) -> None:
    async with open_workshop() as workshop:
        made = await workshop.gateway.prompts.prompt(View(), NATIVE, SAID, settings=settings, launch=launch)
    assert [str(each) for each in made.automatic.decisions] == [f"tool_search: not searched, because {why}"]
    assert made.prompt.shapes == ()


@pytest.mark.behaviour("filter.server_allowed", "filter.tool_allowed", "filter.only_narrows")
async def test_what_the_filters_leave_out_is_neither_found_nor_told_nor_open_in_the_view() -> None:
    settings = PromptSettings(launch=LaunchFilter(servers=Allowance(deny=(Pattern("folders", "*"),))))
    launch = LaunchFilter(tools=Allowance(deny=(Pattern("files", "create_f*"),)))
    async with open_workshop() as workshop:
        made = await workshop.gateway.prompts.prompt(View(), Model(70), SAID, settings=settings, launch=launch)
        resolution = workshop.gateway.board.resolution(made.view)
    assert {CREATE_FILE, CREATE_FOLDER}.isdisjoint(made.automatic.found_tools.ids)
    assert "create_f" not in made.prompt.system
    assert not isinstance(resolution.verdicts[CREATE_FILE], OpenTool)
    assert made.prompt.decision(CREATE_FOLDER).why.endswith("the launch filter denies it: 'folders' under deny_servers")
    assert made.prompt.decision(CREATE_FILE).why.endswith(
        "the launch filter denies it: 'files:create_f*' under deny_tools"
    )


async def test_what_the_settings_of_the_board_say_is_what_is_built() -> None:
    declared = replace(
        DECLARED,
        prompts=PromptSettings(base="From the file.", formats=("hermes",)),
        presentation=PresentationSettings(always_visible=(PinnedEntry(str(CREATE_FILE), HERE),)),
    )
    async with open_workshop(declared) as workshop:
        made = await workshop.gateway.prompts.prompt(View(), NATIVE, "")
    assert made.prompt.system.startswith("From the file.\n\n")
    assert made.prompt.capabilities.primary == "hermes"
    assert [each.id for each in made.prompt.offered_tools[1:]] == [CREATE_FILE]
    assert [decision.why for decision in made.automatic.decisions] == ["the user has said nothing to search by"]


@pytest.mark.behaviour("deferred.widens_nothing")
async def test_what_was_found_before_and_locked_since_is_not_told_again() -> None:
    before = MaterializedTools(((CREATE_FOLDER,),))
    async with open_workshop() as workshop:
        told = await workshop.gateway.prompts.prompt(View(), NATIVE, "", found=before)
        assert told.prompt.tool("create_folder") == CREATE_FOLDER
        off = await workshop.gateway.operator.execute(SetSwitch(CREATE_FOLDER, False), LOCAL_PRINCIPAL)
        assert isinstance(off, Policy)
        after = await workshop.gateway.prompts.prompt(View(), NATIVE, "", found=before)
    assert after.prompt.tool("create_folder") is None
    assert after.prompt.decision(CREATE_FOLDER).why.startswith("it is locked (disabled_by_user): ")


async def test_tools_of_the_client_stand_behind_those_of_the_board() -> None:
    mine = ToolShape("create_file", "Mine.", {"type": "object"})
    async with open_workshop() as workshop:
        made = await workshop.gateway.prompts.prompt(View(), Model(70), "create a file", client=[mine])
    assert made.prompt.shapes[-1] == mine
    assert made.prompt.tool("files__create_file") == CREATE_FILE
    assert any(decision.step is SearchStep.FOUND for decision in made.automatic.decisions)


def not_installed(_: PythonSandbox) -> Sandbox:
    raise SandboxUnavailable(
        "The package 'pydantic_monty' is not installed. Install code mode: pip install 'pegboard[code]'"
    )


@pytest.mark.behaviour("builtins.python_execution_included")
async def test_python_execution_is_in_with_the_usual_settings_where_programs_are_run() -> None:
    async with open_workshop(programs=ProgramBackend(lambda _: MontySandbox())) as workshop:
        made = await workshop.gateway.prompts.prompt(View(), NATIVE, SAID)
        await workshop.gateway.operator.execute(SetSwitch(PYTHON_ID, enabled=False), LOCAL_PRINCIPAL)
        after = await workshop.gateway.prompts.prompt(View(), NATIVE, SAID)
    assert made.prompt.shapes[0].name == "python_execution"
    assert "files.create_file" in made.prompt.shapes[0].description
    assert after.prompt.shapes[0].name == "tool_search"
    assert after.prompt.decision(PYTHON_ID).why.startswith("it is locked (disabled_by_user): ")


@pytest.mark.behaviour("builtins.python_execution_included")
@pytest.mark.parametrize(
    ("means", "why"),
    [
        (None, "this gateway has no sandbox, so it runs no programs"),
        (
            ProgramBackend(not_installed),
            "code mode cannot run here: The package 'pydantic_monty' is not installed. Install code mode: "
            "pip install 'pegboard[code]'",
        ),
    ],
)
async def test_where_no_programs_are_run_the_true_reason_is_told(means: ProgramBackend | None, why: str) -> None:
    async with open_workshop(programs=means) as workshop:
        made = await workshop.gateway.prompts.prompt(View(), NATIVE, SAID)
    assert made.prompt.decision(PYTHON_ID).why == why
    assert "python_execution" not in [shape.name for shape in made.prompt.shapes]
