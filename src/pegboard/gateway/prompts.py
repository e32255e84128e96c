"""The prompt that a model would get for the board as it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pegboard.core.calls.tickets import TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.model.databases import enabled_databases
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import NO_FILTER, LaunchFilter
from pegboard.core.model.selection import View
from pegboard.core.model.settings import BUILTINS, PresentationMode, PromptSettings
from pegboard.core.presentations.builtins import NO_SANDBOX, BuiltinPlace, OwnVerdicts, describe_closed
from pegboard.core.presentations.builtins import builtin_places as list_builtin_places
from pegboard.core.presentations.own_tools import (
    MaterializedTools,
    always_shown_tools,
    conversation_tools,
    pinned_tools,
)
from pegboard.core.presentations.retrieval import MAX_QUERY_CHARS, MAX_RESULTS, ToolSearchQuery
from pegboard.gateway.board import BoardState
from pegboard.gateway.programs.code_mode import CodeModeService
from pegboard.gateway.search import ToolSearch
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.ports.sandbox import SandboxUnavailable
from pegboard.prompts.capability import Availability, Capabilities, NoPrograms, ProgramRunner
from pegboard.prompts.capability import capabilities as compute_capabilities
from pegboard.prompts.model import Model, model_facts
from pegboard.prompts.system_prompt import BuiltPrompt, build
from pegboard.prompts.tool_search import AutomaticSearch, search_automatically, skip_search
from pegboard.prompts.tool_shape import ToolShape

NEAR_MISSES: Final = 5
"""How many tools that fit less well are told of, so that one that is missed can be explained."""


MAX_EARLIER_QUERIES: Final = 5
"""How many of the user's earlier messages are searched again: it bounds what a long conversation costs."""


@dataclass(frozen=True)
class BoardPrompt:
    prompt: BuiltPrompt
    automatic: AutomaticSearch
    view: View
    """As the launch filters leave it: whoever calls what the prompt tells of calls it in this view."""


def launch_view(view: View, settings: PromptSettings, launch: LaunchFilter = NO_FILTER) -> View:
    """The view through the filter of the settings and one of a launch."""
    return view.with_filter(settings.launch).with_filter(launch)


def _query_of(text: str) -> str:
    return text.strip()[:MAX_QUERY_CHARS].strip()


def _open_tools(resolution: Resolution, names: Sequence[str]) -> list[ToolId]:
    """A tool that is locked by now takes no place."""
    ids = dict.fromkeys(id for name in names if (id := resolution.find_tool(name)) is not None)
    return [id for id in ids if isinstance(resolution.verdicts.get(id), OpenTool)]


class PromptBuilder:
    """For surfaces that speak with models themselves, or show what one would be sent."""

    def __init__(self, board: BoardState, calls: ToolCalls, search: ToolSearch, code_mode: CodeModeService) -> None:
        self.board: Final = board
        self._calls = calls
        self._search = search
        self._code_mode = code_mode

    async def automatic_search(
        self,
        view: View,
        user_text: str,
        model: Model,
        *,
        earlier: Iterable[str] = (),
        called: Sequence[str] = (),
        found: MaterializedTools = MaterializedTools(),  # noqa: B008  a constant
        why_not: str | None = None,
    ) -> AutomaticSearch:
        """What this conversation has found once it was searched by what its user says. Opens nothing: who shows or
        calls what was found asks the board again.

        `earlier` is what the user said before and `called` names the tools that were called before, the latest first:
        they get the places that are left. `found` is what the conversation found before; `why_not` says why the model
        may not search, as a clause.
        """
        if why_not is not None:
            return skip_search(found, why_not)
        query = _query_of(user_text)
        distinct = dict.fromkeys(map(_query_of, earlier))
        queries = [*islice((each for each in distinct if each not in ("", query)), MAX_EARLIER_QUERIES)]
        if not query and not queries and not called:
            return skip_search(found, "the user has said nothing to search by")
        resolution = self.board.resolution(view)
        always = pinned_tools(resolution, self.board.policy.declared.presentation, ()).values()
        told = conversation_tools(resolution, always_shown_tools(resolution, {*always}), MaterializedTools())
        if not told.has_deferred:
            return skip_search(found, "no tool is deferred: whatever there is, is shown")
        most = model.max_found_tools
        ranked = await self._rank_tools(view, query, most + len(told.tools) + NEAR_MISSES) if query else []
        used = [id for id in _open_tools(resolution, called) if id not in told.tools]
        candidates = {*ranked, *used}.difference(told.tools)
        before: list[list[ToolId]] = []
        for each in queries:
            if len(candidates) >= most:
                break
            before.append(await self._rank_tools(view, each, most + len(told.tools)))
            candidates |= {*before[-1]}.difference(told.tools)
        return search_automatically(found, ranked, told.tools, model, called=used, earlier=before)

    async def _rank_tools(self, view: View, query: str, limit: int) -> list[ToolId]:
        """The tools that fit a query, the best first."""
        answer = await self._search.retrieve(ToolSearchQuery(query, min(MAX_RESULTS, limit)), view)
        resolution = self.board.resolution(view)
        entries = answer["tools"]
        assert isinstance(entries, list)
        named = (resolution.find_tool(str(entry["name"])) for entry in entries if isinstance(entry, dict))
        return [id for id in named if id is not None]

    def capabilities(
        self,
        view: View,
        model: Model,
        settings: PromptSettings,
        found: MaterializedTools = MaterializedTools(),  # noqa: B008  a constant
    ) -> Capabilities:
        """`view` as `launched` made it: its filters are asked about built-ins as well."""
        board = self.board
        sources = tuple(enabled_databases(board.policy.declared.databases))
        resolution = board.resolution(view)
        always = pinned_tools(resolution, board.policy.declared.presentation, ()).values()
        return compute_capabilities(
            *(settings, model, view.filters, resolution, found.ids),
            always=always,
            sources=sources,
            programs=self._program_runner(view),
            search=self._calls.verdict_on_search(view),
        )

    def _program_runner(self, view: View) -> ProgramRunner | NoPrograms:
        """What runs the programs of this caller's models, by the rules for any call of python_execution."""
        tool, verdict = self._calls.program_tool(), self._calls.verdict_on_programs(view)
        if tool is None or verdict is None:
            return NoPrograms(NO_SANDBOX)
        match self._dialect():
            case NoPrograms() as away:
                return away
            case dialect:
                closed = describe_closed(verdict)
                return ProgramRunner(tool, dialect) if closed is None else NoPrograms(closed)

    def _dialect(self) -> str | NoPrograms:
        """Which Python runs programs now, in words for a model."""
        if (means := self._code_mode.backend) is None:
            return NoPrograms(NO_SANDBOX)
        try:
            return means.sandbox(self.board.policy.declared.code.python).dialect
        except SandboxUnavailable as error:
            return NoPrograms(f"code mode cannot run here: {str(error).rstrip('.')}")

    def builtin_places(
        self, view: View, name: str, presented: PresentationMode | None = None
    ) -> tuple[BuiltinPlace, ...]:
        """Where one of the gateway's own tools is, by the code that lists it: at each endpoint, and in prompts and
        chats; or at the endpoint of one presentation."""
        board = self.board
        dialect = self._dialect()
        own = OwnVerdicts(
            search=self._calls.verdict_on_search(view),
            programs=self._calls.verdict_on_programs(view),
            sandbox_unavailable=dialect.why if isinstance(dialect, NoPrograms) else None,
        )
        resolution = board.resolution(view)
        places = tuple(list_builtin_places(name, resolution, board.policy, own, presented))
        return places if presented is not None else (*places, self._place_in_prompts(view, name))

    def _place_in_prompts(self, view: View, name: str) -> BuiltinPlace:
        where = "prompts and chats"
        if name == TICKET_TOOL:
            return BuiltinPlace(where, True, "a model is told of it once one of its calls waits for a person")
        settings = self.board.policy.declared.prompts
        able = self.capabilities(launch_view(view, settings), model_facts("", None, settings.models), settings)
        ruling = next((each for each in able.builtin_decisions if each.subject == name), None)
        if ruling is None:
            return BuiltinPlace(where, False, f"only {', '.join(BUILTINS)} are told of there")
        return BuiltinPlace(where, ruling.availability is Availability.IN, ruling.why)

    async def prompt(
        self,
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
        told = self.board.policy.declared.prompts if settings is None else settings
        view = launch_view(view, told, launch)
        before = self.capabilities(view, model, told, found)
        automatic = await self.automatic_search(view, said, model, found=found, why_not=before.no_search_reason)
        # Asked of the board again: it may have changed while the search ran.
        after = self.capabilities(view, model, told, automatic.found_tools)
        prompt = build(after, told, overrides=self.board.policy.overrides, client=client)
        return BoardPrompt(prompt, automatic, view)
