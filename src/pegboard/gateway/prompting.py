"""What a model would be sent of the board as it is: capabilities, the search before its first turn, the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.call import ToolIsLocked
from pegboard.core.database.declaration import in_use
from pegboard.core.deferral import Materialised
from pegboard.core.launch import NO_FILTER, LaunchFilter
from pegboard.core.presentations.kept import kept
from pegboard.core.prompting import Prompting
from pegboard.core.view import View
from pegboard.ports.sandbox import SandboxAway
from pegboard.prompts.automatic import Automatic
from pegboard.prompts.building import Prompt, build
from pegboard.prompts.capability import (
    Capabilities,
    NoPrograms,
    ProgramRunner,
    capabilities,
    locked_clause,
)
from pegboard.prompts.model import Model
from pegboard.prompts.shapes import ToolShape

from .automatic import automatic_search
from .gateway import Gateway
from .programs import refusal


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
    sources = tuple(in_use(board.policy.declared.databases))
    resolution = board.resolution(view)
    always = kept(resolution, board.policy.declared.presenting, ()).values()
    return capabilities(
        *(settings, model, view.filters, resolution, found.ids),
        always=always,
        sources=sources,
        programs=program_runner(gateway, view),
    )


def program_runner(gateway: Gateway, view: View) -> ProgramRunner | NoPrograms:
    """What runs the programs of this caller's models, by the rules for any call of python_execution."""
    means, tool = gateway.code.means, gateway.code.tool()
    if means is None or tool is None:
        return NoPrograms("this gateway has no sandbox, so it runs no programs")
    try:
        dialect = means.sandbox(gateway.board.policy.declared.code.python).dialect
    except SandboxAway as error:
        return NoPrograms(f"code mode cannot run here: {str(error).rstrip('.')}")
    match refusal(gateway, view):
        case None:
            return ProgramRunner(tool, dialect)
        case ToolIsLocked(_, reason):
            return NoPrograms(locked_clause(reason))
        case _:
            return NoPrograms("this caller may run no programs")


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
    automatic = await automatic_search(gateway, view, said, model, found=found, is_on=before.may_search)
    # Asked of the board again: it may have changed while the search ran.
    after = capable(gateway, view, model, told, automatic.found)
    prompt = build(after, told, overrides=gateway.board.policy.overrides, client=client)
    return Prompted(prompt, automatic, view)
