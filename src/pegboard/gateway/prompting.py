"""What a model would be sent of the board as it is: capabilities, the search before its first turn, the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.database.declaration import in_use
from pegboard.core.deferral import Materialised
from pegboard.core.launch import NO_FILTER, LaunchFilter
from pegboard.core.presentations.kept import kept
from pegboard.core.prompting import CODE_MODE, Prompting
from pegboard.core.view import View
from pegboard.prompts.automatic import Automatic
from pegboard.prompts.building import Prompt, build
from pegboard.prompts.capability import Capabilities, capabilities
from pegboard.prompts.model import Model
from pegboard.prompts.shapes import ToolShape

from .automatic import automatic_search
from .gateway import Gateway
from .programs import dialect, refusal


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
        python=_python(gateway, view, settings),
    )


def _python(gateway: Gateway, view: View, settings: Prompting) -> str | None:
    """Which Python runs programs, in words; `None` where nobody asks for CodeMode first, or where none is run."""
    wanted = settings.primary or next(iter(settings.formats), None)
    if wanted != CODE_MODE or refusal(gateway, view) is not None:
        return None
    return dialect(gateway)


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
