"""Boards and settings for the tests of prompts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tests.core.boards import BUILTINS, DEV_FILES, GITHUB, MATH, ME, Board, board

from pegboard.core.decision.resolve import Resolution, resolve
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.core.model.patterns import NO_FILTER, LaunchFilter
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PromptSettings
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.prompts.capability import Capabilities, NoPrograms, ProgramRunner, capabilities
from pegboard.prompts.model import Model

READ, WRITE, ISSUE, ADD = (
    ToolId(DEV_FILES, "read_file"),
    ToolId(DEV_FILES, "write_file"),
    ToolId(GITHUB, "create_issue"),
    ToolId(MATH, "add"),
)
PYTHON, SCHEMAS, SQL = (ToolId(BUILTINS, name) for name in ("python_execution", "search_schemas", "execute_sql"))


def tool(id: ToolId, description: str = "") -> Tool:
    schema: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    told = description or f"Does what {id.name.replace('_', ' ')} says."
    return Tool(id, ToolSpec(id.name, description=told, input_schema=schema))


def hung(ids: Iterable[ToolId] = (READ, WRITE, ISSUE, ADD), sources: Iterable[SourceKey] = ()) -> Board:
    """A board on which all of these are open."""
    return board([tool(id) for id in ids], sources=sources)


def many(count: int) -> Board:
    return hung([ToolId(GITHUB, f"tool_{number}") for number in range(count)])


def resolved(made: Board, launch: LaunchFilter = NO_FILTER) -> Resolution:
    return resolve(made.catalogue, made.policy, View(ME).with_filter(launch))


def capable(
    made: Board | None = None,
    model: Model | None = None,
    found: Sequence[ToolId] = (),
    launch: LaunchFilter = NO_FILTER,
    always: Sequence[ToolId] = (),
    sources: Sequence[str] = (),
    programs: ProgramRunner | NoPrograms | None = None,
    **settings: object,
) -> Capabilities:
    prompting = replace(PromptSettings(), **settings)  # type: ignore[arg-type]  # checked by dataclasses
    made = hung() if made is None else made
    model = Model(8) if model is None else model
    resolution = resolved(made)
    return capabilities(
        *(prompting, model, launch, resolution, found), always=always, sources=sources, programs=programs
    )
