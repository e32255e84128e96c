"""What a model would be sent of the board as it is: capabilities, the search before its first turn, the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.builtin_verdict import describe_closed
from pegboard.core.database.source import enabled_databases
from pegboard.core.deferral import MaterializedTools
from pegboard.core.launch import NO_FILTER, LaunchFilter
from pegboard.core.presentations import PresentationMode
from pegboard.core.presentations.builtins import NO_SANDBOX, BuiltinPlace, OwnVerdicts, builtin_places
from pegboard.core.presentations.kept import pinned_tools
from pegboard.core.prompting import BUILTINS, PromptSettings
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.view import View
from pegboard.ports.sandbox import SandboxUnavailable
from pegboard.prompts.automatic import AutomaticSearch
from pegboard.prompts.building import BuiltPrompt, build
from pegboard.prompts.capability import (
    Availability,
    Capabilities,
    NoPrograms,
    ProgramRunner,
    capabilities,
)
from pegboard.prompts.model import Model, model_facts
from pegboard.prompts.shapes import ToolShape

from .automatic import automatic_search
from .builtin_verdicts import verdict_on_search
from .gateway import Gateway
from .programs import verdict_on_programs


@dataclass(frozen=True)
class BoardPrompt:
    prompt: BuiltPrompt
    automatic: AutomaticSearch
    view: View
    """As the launch filters leave it: whoever calls what the prompt tells of calls it in this view."""


def launch_view(view: View, settings: PromptSettings, launch: LaunchFilter = NO_FILTER) -> View:
    """The view through the filter of the settings and one of a launch."""
    return view.with_filter(settings.launch).with_filter(launch)


def model_capabilities(
    gateway: Gateway,
    view: View,
    model: Model,
    settings: PromptSettings,
    found: MaterializedTools = MaterializedTools(),  # noqa: B008  a constant
) -> Capabilities:
    """`view` as `launched` made it: its filters are asked about built-ins as well."""
    board = gateway.board
    sources = tuple(enabled_databases(board.policy.declared.databases))
    resolution = board.resolution(view)
    always = pinned_tools(resolution, board.policy.declared.presentation, ()).values()
    return capabilities(
        *(settings, model, view.filters, resolution, found.ids),
        always=always,
        sources=sources,
        programs=program_runner(gateway, view),
        search=verdict_on_search(gateway, view),
    )


def program_runner(gateway: Gateway, view: View) -> ProgramRunner | NoPrograms:
    """What runs the programs of this caller's models, by the rules for any call of python_execution."""
    tool, verdict = gateway.code_mode.tool(), verdict_on_programs(gateway, view)
    if tool is None or verdict is None:
        return NoPrograms(NO_SANDBOX)
    match _dialect(gateway):
        case NoPrograms() as away:
            return away
        case dialect:
            closed = describe_closed(verdict)
            return ProgramRunner(tool, dialect) if closed is None else NoPrograms(closed)


def _dialect(gateway: Gateway) -> str | NoPrograms:
    """Which Python runs programs now, in words for a model."""
    if (means := gateway.code_mode.backend) is None:
        return NoPrograms(NO_SANDBOX)
    try:
        return means.sandbox(gateway.board.policy.declared.code.python).dialect
    except SandboxUnavailable as error:
        return NoPrograms(f"code mode cannot run here: {str(error).rstrip('.')}")


def builtin_places_of(
    gateway: Gateway, view: View, name: str, presented: PresentationMode | None = None
) -> tuple[BuiltinPlace, ...]:
    """Where one of the gateway's own tools is, by the code that lists it: at each endpoint, and in prompts and chats;
    or at the endpoint of one presentation."""
    board = gateway.board
    dialect = _dialect(gateway)
    own = OwnVerdicts(
        search=verdict_on_search(gateway, view),
        programs=verdict_on_programs(gateway, view),
        sandbox_unavailable=dialect.why if isinstance(dialect, NoPrograms) else None,
    )
    resolution = board.resolution(view)
    places = tuple(builtin_places(name, resolution, board.policy, own, presented))
    return places if presented is not None else (*places, _place_in_prompts(gateway, view, name))


def _place_in_prompts(gateway: Gateway, view: View, name: str) -> BuiltinPlace:
    where = "prompts and chats"
    if name == TICKET_TOOL:
        return BuiltinPlace(where, True, "a model is told of it once one of its calls waits for a person")
    settings = gateway.board.policy.declared.prompts
    able = model_capabilities(gateway, launch_view(view, settings), model_facts("", None, settings.models), settings)
    ruling = next((each for each in able.builtin_decisions if each.subject == name), None)
    if ruling is None:
        return BuiltinPlace(where, False, f"only {', '.join(BUILTINS)} are told of there")
    return BuiltinPlace(where, ruling.availability is Availability.IN, ruling.why)


async def board_prompt(
    gateway: Gateway,
    view: View,
    model: Model,
    said: str,
    *,
    settings: PromptSettings | None = None,
    launch: LaunchFilter = NO_FILTER,
    found: MaterializedTools = MaterializedTools(),  # noqa: B008  a constant
    client: Sequence[ToolShape] = (),
) -> BoardPrompt:
    """For what the user says, in one order: capabilities, search, prompt. `settings` are those of the board unless
    others are given; `found` is what the conversation found before; `client` are tools of whoever asks."""
    told = gateway.board.policy.declared.prompts if settings is None else settings
    view = launch_view(view, told, launch)
    before = model_capabilities(gateway, view, model, told, found)
    automatic = await automatic_search(gateway, view, said, model, found=found, why_not=before.no_search_reason)
    # Asked of the board again: it may have changed while the search ran.
    after = model_capabilities(gateway, view, model, told, automatic.found_tools)
    prompt = build(after, told, overrides=gateway.board.policy.overrides, client=client)
    return BoardPrompt(prompt, automatic, view)
