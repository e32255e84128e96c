"""The decision tree: which built-ins, formats and tools a model gets of a board, and the reason of each decision.

It takes away from a resolution and adds nothing: whether a tool is open is decided there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from pegboard.core.decision.resolve import OpenTool, Resolution, Verdict
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.patterns import LaunchFilter, find_launch_block
from pegboard.core.model.settings import BUILTINS, CODE_MODE, FAMILY, NATIVE, PYTHON, SEARCH, PromptSettings
from pegboard.core.model.tool import Tool
from pegboard.core.presentations.builtins import describe_closed
from pegboard.prompts.formats import FORMATS
from pegboard.prompts.model import Model


class CapabilityKind(StrEnum):
    BUILTIN = "built-in"
    FORMAT = "format"
    TOOL = "tool"


class Availability(StrEnum):
    """By the words that people read."""

    IN = "in"
    """Of a format: available."""
    CALLABLE = "callable"
    """The model is not told of it, and may call it."""
    DEFERRED = "deferred"
    """Known to search, and in the prompt once it is found."""
    OUT = "out"


@dataclass(frozen=True, slots=True)
class CapabilityDecision:
    kind: CapabilityKind
    subject: str
    """A built-in's or format's name, or a tool's id."""
    availability: Availability
    why: str
    """As a clause."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.availability.value}, because {self.why}"


@dataclass(frozen=True, slots=True)
class ProgramRunner:
    """What runs the programs of a model, whether or not its tool is on the board."""

    tool: Tool
    """python_execution, as models are told of it."""
    dialect: str
    """Which Python it is, in words for the model."""


@dataclass(frozen=True, slots=True)
class NoPrograms:
    """Programs cannot be run here."""

    why: str
    """As a clause."""


NO_RUNNER: Final = NoPrograms("nothing here runs programs")
"""For prompts that are built without a gateway."""


@dataclass(frozen=True)
class Capabilities:
    """What one model gets of one view of the board."""

    model: Model
    resolution: Resolution
    launch_filters: tuple[LaunchFilter, ...]
    """All of which a built-in or tool must pass."""
    builtins: tuple[str, ...]
    """Those that the model is told of, in the order in which it is."""
    formats: tuple[str, ...]
    """Those that are available, in the order in which they are tried."""
    primary: str | None
    """`None` where none is available: the model can call nothing then, and is told of nothing."""
    history_format: str | None
    """The format in which calls of a conversation are told. It stays where a model is not to call anything now."""
    tools: tuple[ToolId, ...]
    """Those that the model is told of: what is always shown, then what was found, the best first."""
    found_tools: tuple[ToolId, ...]
    always_visible: frozenset[ToolId]
    has_deferred: bool
    builtin_decisions: tuple[CapabilityDecision, ...]
    format_decisions: tuple[CapabilityDecision, ...]
    programs: ProgramRunner | None = None
    """What runs the programs of the model, where it may have any run."""

    @property
    def is_native(self) -> bool:
        return self.primary == NATIVE

    @cached_property
    def should_search(self) -> bool:
        """Whether a search is to run before the first turn."""
        return self.has_deferred and SEARCH in self.builtins

    @property
    def may_search(self) -> bool:
        """Whether the model may call tool_search, told of it or not."""
        return self.no_search_reason is None

    @property
    def no_search_reason(self) -> str | None:
        """As a clause, where the model may not call tool_search."""
        ruling = next(each for each in self.builtin_decisions if each.subject == SEARCH)
        return ruling.why if ruling.availability is Availability.OUT else None

    def with_found(self, found: Sequence[ToolId]) -> "Capabilities":
        """The same after a search, `found` the best first: the model is told of as many as its size allows."""
        told = _visible_tools(
            self.resolution, self.launch_filters, self.always_visible, found, self.model, self.primary
        )
        return replace(self, tools=told, found_tools=tuple(dict.fromkeys(found)))

    def decisions(self) -> Iterator[CapabilityDecision]:
        """On every built-in, every format and every tool of the catalogue, each once."""
        yield from self.builtin_decisions
        yield from self.format_decisions
        for id in self.resolution.verdicts:
            if not _is_switchable_builtin(id):
                yield self.decision(id)

    def decision(self, id: ToolId) -> CapabilityDecision:
        if _is_switchable_builtin(id):
            return next(each for each in self.builtin_decisions if each.subject == id.name)
        place, why = self._availability_of(id)
        return CapabilityDecision(CapabilityKind.TOOL, str(id), place, why)

    def _availability_of(self, id: ToolId) -> tuple[Availability, str]:
        verdict = self.resolution.verdicts.get(id)
        if (closed := _closed_reason(verdict)) is not None:
            return Availability.OUT, closed
        if (barred := find_launch_block(self.launch_filters, id)) is not None:
            return Availability.OUT, str(barred)
        if self.primary is None:
            return Availability.OUT, "no format is available to call it in"
        if isinstance(id.source, BuiltinKey):
            return Availability.IN, "it is a built-in of the gateway"
        if id in self.always_visible:
            return Availability.IN, "always_visible names it"
        return self._found_availability(id)

    def _found_availability(self, id: ToolId) -> tuple[Availability, str]:
        most = self.model.max_found_tools
        if id not in self.found_tools:
            then = (
                "is in the prompt once a search finds it"
                if self.may_search
                else "tool_search is out, so it stays there"
            )
            return Availability.DEFERRED, f"it is known to search and {then}"
        place = self.found_tools.index(id) + 1
        if id in self.tools:
            return (
                Availability.IN,
                f"it was found, in place {place}; {self.model.size_description}: it is shown {most} found tools at "
                "most",
            )
        return (
            Availability.DEFERRED,
            f"it was found in place {place}, and {self.model.size_description}: it is shown {most} found tools at most",
        )


def capabilities(
    settings: PromptSettings,
    model: Model,
    launch: LaunchFilter | Sequence[LaunchFilter],
    resolution: Resolution,
    found: Sequence[ToolId] = (),
    *,
    always: Collection[ToolId] = (),
    sources: Collection[str] = (),
    programs: ProgramRunner | NoPrograms | None = None,
    search: Verdict | None = None,
) -> Capabilities:
    """`found` is what searches found, the best first; `always` what need not be found; `sources` are the database
    sources that are on. A built-in exists where the board has it; tool_search is the gateway's own, and open unless
    `search` is another verdict;
    python_execution exists also where `programs` says what runs it. Without `programs` the board alone decides."""
    stands = frozenset(always)
    launches = (launch,) if isinstance(launch, LaunchFilter) else tuple(launch)
    launches = tuple(each for each in launches if each.is_limited)
    has_deferred = _has_deferred(resolution, launches, stands)
    rules = _BuiltinRules(settings, launches, resolution, has_deferred, tuple(sources), programs, search)
    about_builtins = tuple(rules.decision(name) for name in BUILTINS)
    offered = tuple(each.subject for each in about_builtins if each.availability is Availability.IN)
    about_formats = tuple(_decide_formats(settings, model, about_builtins))
    available = tuple(each.subject for each in about_formats if each.availability is Availability.IN)
    primary = _primary(settings, model, available)
    return Capabilities(
        model=model,
        resolution=resolution,
        launch_filters=launches,
        builtins=offered,
        formats=available,
        primary=primary,
        history_format=primary,
        tools=_visible_tools(resolution, launches, stands, found, model, primary),
        found_tools=tuple(dict.fromkeys(found)),
        always_visible=stands,
        has_deferred=has_deferred,
        builtin_decisions=about_builtins,
        format_decisions=about_formats,
        programs=programs if isinstance(programs, ProgramRunner) else None,
    )


@dataclass(frozen=True)
class _BuiltinRules:
    settings: PromptSettings
    launch_filters: tuple[LaunchFilter, ...]
    resolution: Resolution
    has_deferred: bool
    sources: tuple[str, ...]
    programs: ProgramRunner | NoPrograms | None
    search: Verdict | None

    def decision(self, name: str) -> CapabilityDecision:
        place, why = self._availability_of(name)
        return CapabilityDecision(CapabilityKind.BUILTIN, name, place, why)

    def _availability_of(self, name: str) -> tuple[Availability, str]:
        if name not in self.settings.builtins:
            return Availability.OUT, "it is not among prompts.builtins"
        if (barred := find_launch_block(self.launch_filters, ToolId(BuiltinKey(), name))) is not None:
            return Availability.OUT, str(barred)
        match name:
            case "tool_search":
                if self.search is not None and (closed := describe_closed(self.search)) is not None:
                    return Availability.OUT, closed
                if self.has_deferred:
                    return Availability.IN, "it is switched on, and there are deferred tools to find"
                return (
                    Availability.CALLABLE,
                    "no tool is deferred, so that there is nothing to tell the model to look for",
                )
            case "python_execution":
                if CODE_MODE not in self.settings.formats:
                    return Availability.OUT, f"{CODE_MODE} is not among prompts.formats"
                return self._program_availability()
            case _:
                if not self.sources:
                    return Availability.OUT, "no database source is on"
        return self._board_availability(name)

    def _program_availability(self) -> tuple[Availability, str]:
        verdict = self.resolution.verdicts.get(ToolId(BuiltinKey(), PYTHON))
        if verdict is not None and (closed := _closed_reason(verdict)) is not None:
            return Availability.OUT, closed
        programs = NO_RUNNER if self.programs is None and verdict is None else self.programs
        if isinstance(programs, NoPrograms):
            return Availability.OUT, programs.why
        return Availability.IN, f"it is switched on, and {CODE_MODE} is among prompts.formats"

    def _board_availability(self, name: str) -> tuple[Availability, str]:
        verdict = self.resolution.verdicts.get(ToolId(BuiltinKey(), name))
        if verdict is None:
            return Availability.OUT, f"this gateway has no {name}"
        if (closed := _closed_reason(verdict)) is not None:
            return Availability.OUT, closed
        return Availability.IN, f"it is switched on, and a database source is on: {self.sources[0]}"


def _decide_formats(
    settings: PromptSettings, model: Model, builtins: Sequence[CapabilityDecision]
) -> Iterator[CapabilityDecision]:
    seen: set[str] = set()
    for written in settings.formats:
        name = model.format if written == FAMILY else written
        if not name:
            yield CapabilityDecision(
                CapabilityKind.FORMAT, FAMILY, Availability.OUT, "no format is known to be the model's own"
            )
        elif name not in seen:
            seen.add(name)
            yield _format_decision(name, written == FAMILY, model, builtins)


def _format_decision(
    name: str, of_family: bool, model: Model, builtins: Sequence[CapabilityDecision]
) -> CapabilityDecision:
    if name == NATIVE:
        place = Availability.IN if model.tool_calling else Availability.OUT
        can = "can" if model.tool_calling else "cannot, as far as is known,"
        return CapabilityDecision(CapabilityKind.FORMAT, name, place, f"the model {can} call tools natively")
    if name == CODE_MODE:
        python = next(each for each in builtins if each.subject == PYTHON)
        if python.availability is Availability.IN:
            return CapabilityDecision(CapabilityKind.FORMAT, name, Availability.IN, f"{PYTHON} is in")
        return CapabilityDecision(
            CapabilityKind.FORMAT, name, Availability.OUT, f"it needs {PYTHON}, which is out: {python.why}"
        )
    if name not in FORMATS:
        return CapabilityDecision(CapabilityKind.FORMAT, name, Availability.OUT, "there is no such format")
    if of_family:
        return CapabilityDecision(
            CapabilityKind.FORMAT, name, Availability.IN, f"{model.family or 'the model'} was trained on it"
        )
    return CapabilityDecision(
        CapabilityKind.FORMAT, name, Availability.IN, "it is switched on, and any model can write text"
    )


def _primary(settings: PromptSettings, model: Model, available: Sequence[str]) -> str | None:
    preferred = model.format if settings.primary == FAMILY else settings.primary
    if preferred in available:
        return preferred
    return available[0] if available else None


def _has_deferred(resolution: Resolution, launches: tuple[LaunchFilter, ...], always: frozenset[ToolId]) -> bool:
    return any(
        not isinstance(id.source, BuiltinKey) and id not in always and find_launch_block(launches, id) is None
        for id in resolution.open_ids
    )


def _visible_tools(
    resolution: Resolution,
    launches: tuple[LaunchFilter, ...],
    always: frozenset[ToolId],
    found: Sequence[ToolId],
    model: Model,
    primary: str | None,
) -> tuple[ToolId, ...]:
    """In the order of the board what need not be found, then what was, the best first."""
    if primary is None:
        return ()

    def passes(id: ToolId) -> bool:
        return isinstance(resolution.verdicts.get(id), OpenTool) and find_launch_block(launches, id) is None

    own = (id for id in resolution.open_builtins if not _is_switchable_builtin(id))
    order = resolution.open_ids if always else ()
    stands = [id for id in (*own, *(id for id in order if id in always)) if passes(id)]
    fresh = [
        id for id in dict.fromkeys(found) if id not in always and not isinstance(id.source, BuiltinKey) and passes(id)
    ]
    return (*stands, *fresh[: model.max_found_tools])


def _is_switchable_builtin(id: ToolId) -> bool:
    return isinstance(id.source, BuiltinKey) and id.name in BUILTINS


def _closed_reason(verdict: Verdict | None) -> str | None:
    return "the board has no such tool" if verdict is None else describe_closed(verdict)
