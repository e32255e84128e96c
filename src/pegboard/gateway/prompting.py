"""What a model would be sent of the board as it is: capabilities, the search before its first turn, the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.builtin_verdict import closed_clause
from pegboard.core.database.source import enabled_databases
from pegboard.core.deferral import Materialised
from pegboard.core.launch import NO_FILTER, LaunchFilter
from pegboard.core.presentations import Presented
from pegboard.core.presentations.builtins import NO_SANDBOX, BuiltinPlace, OwnVerdicts, builtin_places
from pegboard.core.presentations.kept import kept
from pegboard.core.prompting import BUILTINS, Prompting
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.view import View
from pegboard.ports.sandbox import SandboxAway
from pegboard.prompts.automatic import Automatic
from pegboard.prompts.building import Prompt, build
from pegboard.prompts.capability import (
    Capabilities,
    NoPrograms,
    Place,
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
class Prompted:
    prompt: Prompt
    automatic: Automatic
    view: View
    """As the launch filters leave it: whoever calls what the prompt tells of calls it in this view."""


def launched(view: View, settings: Prompting, launch: LaunchFilter = NO_FILTER) -> View:
    """The view through the filter of the settings and one of a launch."""
    return view.filtered(settings.launch).filtered(launch)


def capable(
    gateway: Gateway,
    view: View,
    model: Model,
    settings: Prompting,
    found: Materialised = Materialised(),  # noqa: B008  a constant
) -> Capabilities:
    """`view` as `launched` made it: its filters are asked about built-ins as well."""
    board = gateway.board
    sources = tuple(enabled_databases(board.policy.declared.databases))
    resolution = board.resolution(view)
    always = kept(resolution, board.policy.declared.presenting, ()).values()
    return capabilities(
        *(settings, model, view.filters, resolution, found.ids),
        always=always,
        sources=sources,
        programs=program_runner(gateway, view),
        search=verdict_on_search(gateway, view),
    )


def program_runner(gateway: Gateway, view: View) -> ProgramRunner | NoPrograms:
    """What runs the programs of this caller's models, by the rules for any call of python_execution."""
    tool, verdict = gateway.code.tool(), verdict_on_programs(gateway, view)
    if tool is None or verdict is None:
        return NoPrograms(NO_SANDBOX)
    match _dialect(gateway):
        case NoPrograms() as away:
            return away
        case dialect:
            closed = closed_clause(verdict)
            return ProgramRunner(tool, dialect) if closed is None else NoPrograms(closed)


def _dialect(gateway: Gateway) -> str | NoPrograms:
    """Which Python runs programs now, in words for a model."""
    if (means := gateway.code.means) is None:
        return NoPrograms(NO_SANDBOX)
    try:
        return means.sandbox(gateway.board.policy.declared.code.python).dialect
    except SandboxAway as error:
        return NoPrograms(f"code mode cannot run here: {str(error).rstrip('.')}")


def builtin_places_of(
    gateway: Gateway, view: View, name: str, presented: Presented | None = None
) -> tuple[BuiltinPlace, ...]:
    """Where one of the gateway's own tools is, by the code that lists it: at each endpoint, and in prompts and chats;
    or at the endpoint of one presentation."""
    board = gateway.board
    dialect = _dialect(gateway)
    own = OwnVerdicts(
        search=verdict_on_search(gateway, view),
        programs=verdict_on_programs(gateway, view),
        sandbox_away=dialect.why if isinstance(dialect, NoPrograms) else None,
    )
    resolution = board.resolution(view)
    places = tuple(builtin_places(name, resolution, board.policy, own, presented))
    return places if presented is not None else (*places, _in_prompts(gateway, view, name))


def _in_prompts(gateway: Gateway, view: View, name: str) -> BuiltinPlace:
    where = "prompts and chats"
    if name == TICKET_TOOL:
        return BuiltinPlace(where, True, "a model is told of it once one of its calls waits for a person")
    settings = gateway.board.policy.declared.prompting
    able = capable(gateway, launched(view, settings), model_facts("", None, settings.models), settings)
    ruling = next((each for each in able.about_builtins if each.subject == name), None)
    if ruling is None:
        return BuiltinPlace(where, False, f"only {', '.join(BUILTINS)} are told of there")
    return BuiltinPlace(where, ruling.place is Place.IN, ruling.why)


async def prompted(
    gateway: Gateway,
    view: View,
    model: Model,
    said: str,
    *,
    settings: Prompting | None = None,
    launch: LaunchFilter = NO_FILTER,
    found: Materialised = Materialised(),  # noqa: B008  a constant
    client: Sequence[ToolShape] = (),
) -> Prompted:
    """For what the user says, in one order: capabilities, search, prompt. `settings` are those of the board unless
    others are given; `found` is what the conversation found before; `client` are tools of whoever asks."""
    told = gateway.board.policy.declared.prompting if settings is None else settings
    view = launched(view, told, launch)
    before = capable(gateway, view, model, told, found)
    automatic = await automatic_search(gateway, view, said, model, found=found, why_not=before.why_no_search)
    # Asked of the board again: it may have changed while the search ran.
    after = capable(gateway, view, model, told, automatic.found)
    prompt = build(after, told, overrides=gateway.board.policy.overrides, client=client)
    return Prompted(prompt, automatic, view)
