"""The decision tree: which built-ins, formats and tools a model gets of a board, and the reason of each decision.

It takes away from a resolution and adds nothing: whether a tool is open is decided there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from pegboard.core.builtin_verdict import closed_clause
from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.launch import LaunchFilter, barring
from pegboard.core.prompting import BUILTINS, CODE_MODE, FAMILY, NATIVE, PYTHON, SEARCH, Prompting
from pegboard.core.resolve import Open, Resolution, Verdict
from pegboard.core.tool import Tool

from .formats import FORMATS
from .model import Model


class Kind(StrEnum):
    BUILTIN = "built-in"
    FORMAT = "format"
    TOOL = "tool"


class Place(StrEnum):
    """By the words that people read."""

    IN = "in"
    """Of a format: available."""
    CALLABLE = "callable"
    """The model is not told of it, and may call it."""
    DEFERRED = "deferred"
    """Known to search, and in the prompt once it is found."""
    OUT = "out"


@dataclass(frozen=True, slots=True)
class Ruling:
    kind: Kind
    subject: str
    """A built-in's or format's name, or a tool's id."""
    place: Place
    why: str
    """As a clause."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.place.value}, because {self.why}"


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
    launches: tuple[LaunchFilter, ...]
    """All of which a built-in or tool must pass."""
    builtins: tuple[str, ...]
    """Those that the model is told of, in the order in which it is."""
    formats: tuple[str, ...]
    """Those that are available, in the order in which they are tried."""
    primary: str | None
    """`None` where none is available: the model can call nothing then, and is told of nothing."""
    spoken: str | None
    """The format in which calls of a conversation are told. It stays where a model is not to call anything now."""
    tools: tuple[ToolId, ...]
    """Those that the model is told of: what is always shown, then what was found, the best first."""
    found: tuple[ToolId, ...]
    always: frozenset[ToolId]
    has_deferred: bool
    about_builtins: tuple[Ruling, ...]
    about_formats: tuple[Ruling, ...]
    programs: ProgramRunner | None = None
    """What runs the programs of the model, where it may have any run."""

    @property
    def is_native(self) -> bool:
        return self.primary == NATIVE

    @cached_property
    def searches(self) -> bool:
        """Whether a search is to run before the first turn."""
        return self.has_deferred and SEARCH in self.builtins

    @property
    def may_search(self) -> bool:
        """Whether the model may call tool_search, told of it or not."""
        return self.why_no_search is None

    @property
    def why_no_search(self) -> str | None:
        """As a clause, where the model may not call tool_search."""
        ruling = next(each for each in self.about_builtins if each.subject == SEARCH)
        return ruling.why if ruling.place is Place.OUT else None

    def with_found(self, found: Sequence[ToolId]) -> "Capabilities":
        """The same after a search, `found` the best first: the model is told of as many as its size allows."""
        told = _told(self.resolution, self.launches, self.always, found, self.model, self.primary)
        return replace(self, tools=told, found=tuple(dict.fromkeys(found)))

    def rulings(self) -> Iterator[Ruling]:
        """On every built-in, every format and every tool of the catalogue, each once."""
        yield from self.about_builtins
        yield from self.about_formats
        for id in self.resolution.verdicts:
            if not _is_of_the_four(id):
                yield self.ruling(id)

    def ruling(self, id: ToolId) -> Ruling:
        if _is_of_the_four(id):
            return next(each for each in self.about_builtins if each.subject == id.name)
        place, why = self._placed(id)
        return Ruling(Kind.TOOL, str(id), place, why)

    def _placed(self, id: ToolId) -> tuple[Place, str]:
        verdict = self.resolution.verdicts.get(id)
        if (closed := _closed(verdict)) is not None:
            return Place.OUT, closed
        if (barred := barring(self.launches, id)) is not None:
            return Place.OUT, str(barred)
        if self.primary is None:
            return Place.OUT, "no format is available to call it in"
        if isinstance(id.source, BuiltinKey):
            return Place.IN, "it is a built-in of the gateway"
        if id in self.always:
            return Place.IN, "always_visible names it"
        return self._found(id)

    def _found(self, id: ToolId) -> tuple[Place, str]:
        most = self.model.most_found
        if id not in self.found:
            then = (
                "is in the prompt once a search finds it"
                if self.may_search
                else "tool_search is out, so it stays there"
            )
            return Place.DEFERRED, f"it is known to search and {then}"
        place = self.found.index(id) + 1
        if id in self.tools:
            return (
                Place.IN,
                f"it was found, in place {place}; {self.model.size}: it is shown {most} found tools at most",
            )
        return (
            Place.DEFERRED,
            f"it was found in place {place}, and {self.model.size}: it is shown {most} found tools at most",
        )


def capabilities(
    settings: Prompting,
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
    launches = tuple(each for each in launches if each.limits)
    has_deferred = _has_deferred(resolution, launches, stands)
    rules = _Builtins(settings, launches, resolution, has_deferred, tuple(sources), programs, search)
    about_builtins = tuple(rules.ruling(name) for name in BUILTINS)
    offered = tuple(each.subject for each in about_builtins if each.place is Place.IN)
    about_formats = tuple(_about_formats(settings, model, about_builtins))
    available = tuple(each.subject for each in about_formats if each.place is Place.IN)
    primary = _primary(settings, model, available)
    return Capabilities(
        model=model,
        resolution=resolution,
        launches=launches,
        builtins=offered,
        formats=available,
        primary=primary,
        spoken=primary,
        tools=_told(resolution, launches, stands, found, model, primary),
        found=tuple(dict.fromkeys(found)),
        always=stands,
        has_deferred=has_deferred,
        about_builtins=about_builtins,
        about_formats=about_formats,
        programs=programs if isinstance(programs, ProgramRunner) else None,
    )


@dataclass(frozen=True)
class _Builtins:
    settings: Prompting
    launches: tuple[LaunchFilter, ...]
    resolution: Resolution
    has_deferred: bool
    sources: tuple[str, ...]
    programs: ProgramRunner | NoPrograms | None
    search: Verdict | None

    def ruling(self, name: str) -> Ruling:
        place, why = self._placed(name)
        return Ruling(Kind.BUILTIN, name, place, why)

    def _placed(self, name: str) -> tuple[Place, str]:
        if name not in self.settings.builtins:
            return Place.OUT, "it is not among prompts.builtins"
        if (barred := barring(self.launches, ToolId(BuiltinKey(), name))) is not None:
            return Place.OUT, str(barred)
        match name:
            case "tool_search":
                if self.search is not None and (closed := closed_clause(self.search)) is not None:
                    return Place.OUT, closed
                if self.has_deferred:
                    return Place.IN, "it is switched on, and there are deferred tools to find"
                return Place.CALLABLE, "no tool is deferred, so that there is nothing to tell the model to look for"
            case "python_execution":
                if CODE_MODE not in self.settings.formats:
                    return Place.OUT, f"{CODE_MODE} is not among prompts.formats"
                return self._running_programs()
            case _:
                if not self.sources:
                    return Place.OUT, "no database source is on"
        return self._of_the_board(name)

    def _running_programs(self) -> tuple[Place, str]:
        verdict = self.resolution.verdicts.get(ToolId(BuiltinKey(), PYTHON))
        if verdict is not None and (closed := _closed(verdict)) is not None:
            return Place.OUT, closed
        programs = NO_RUNNER if self.programs is None and verdict is None else self.programs
        if isinstance(programs, NoPrograms):
            return Place.OUT, programs.why
        return Place.IN, f"it is switched on, and {CODE_MODE} is among prompts.formats"

    def _of_the_board(self, name: str) -> tuple[Place, str]:
        verdict = self.resolution.verdicts.get(ToolId(BuiltinKey(), name))
        if verdict is None:
            return Place.OUT, f"this gateway has no {name}"
        if (closed := _closed(verdict)) is not None:
            return Place.OUT, closed
        return Place.IN, f"it is switched on, and a database source is on: {self.sources[0]}"


def _about_formats(settings: Prompting, model: Model, builtins: Sequence[Ruling]) -> Iterator[Ruling]:
    seen: set[str] = set()
    for written in settings.formats:
        name = model.format if written == FAMILY else written
        if not name:
            yield Ruling(Kind.FORMAT, FAMILY, Place.OUT, "no format is known to be the model's own")
        elif name not in seen:
            seen.add(name)
            yield _format_ruling(name, written == FAMILY, model, builtins)


def _format_ruling(name: str, of_family: bool, model: Model, builtins: Sequence[Ruling]) -> Ruling:
    if name == NATIVE:
        place = Place.IN if model.tool_calling else Place.OUT
        can = "can" if model.tool_calling else "cannot, as far as is known,"
        return Ruling(Kind.FORMAT, name, place, f"the model {can} call tools natively")
    if name == CODE_MODE:
        python = next(each for each in builtins if each.subject == PYTHON)
        if python.place is Place.IN:
            return Ruling(Kind.FORMAT, name, Place.IN, f"{PYTHON} is in")
        return Ruling(Kind.FORMAT, name, Place.OUT, f"it needs {PYTHON}, which is out: {python.why}")
    if name not in FORMATS:
        return Ruling(Kind.FORMAT, name, Place.OUT, "there is no such format")
    if of_family:
        return Ruling(Kind.FORMAT, name, Place.IN, f"{model.family or 'the model'} was trained on it")
    return Ruling(Kind.FORMAT, name, Place.IN, "it is switched on, and any model can write text")


def _primary(settings: Prompting, model: Model, available: Sequence[str]) -> str | None:
    preferred = model.format if settings.primary == FAMILY else settings.primary
    if preferred in available:
        return preferred
    return available[0] if available else None


def _has_deferred(resolution: Resolution, launches: tuple[LaunchFilter, ...], always: frozenset[ToolId]) -> bool:
    return any(
        not isinstance(id.source, BuiltinKey) and id not in always and barring(launches, id) is None
        for id in resolution.open_ids
    )


def _told(
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
        return isinstance(resolution.verdicts.get(id), Open) and barring(launches, id) is None

    own = (id for id in resolution.open_builtins if not _is_of_the_four(id))
    order = resolution.open_ids if always else ()
    stands = [id for id in (*own, *(id for id in order if id in always)) if passes(id)]
    fresh = [
        id for id in dict.fromkeys(found) if id not in always and not isinstance(id.source, BuiltinKey) and passes(id)
    ]
    return (*stands, *fresh[: model.most_found])


def _is_of_the_four(id: ToolId) -> bool:
    return isinstance(id.source, BuiltinKey) and id.name in BUILTINS


def _closed(verdict: Verdict | None) -> str | None:
    return "the board has no such tool" if verdict is None else closed_clause(verdict)
