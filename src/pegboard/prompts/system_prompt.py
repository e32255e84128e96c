"""The system prompt: parts in a fixed order, each with its reason and cost, within a budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeAlias

from pegboard.core.calls.tickets import TICKET, TICKET_ID, TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.settings import CODE_MODE, PYTHON, SEARCH, PromptSettings
from pegboard.core.overrides.model import OverrideIndex
from pegboard.core.presentations.entries import estimate_tokens, readable_schema
from pegboard.core.presentations.own_tools import free_name
from pegboard.core.review.text_diff import common_prefix_length
from pegboard.prompts.capability import Availability, Capabilities, CapabilityDecision, CapabilityKind
from pegboard.prompts.formats import FORMATS
from pegboard.prompts.stubs.programs import program_names, stubs_with_overrides
from pegboard.prompts.stubs.render import Stub
from pegboard.prompts.tool_shape import SEARCH_SHAPE, ToolShape, functions_text

_SEPARATOR: Final = "\n\n"
CLASH_REASON: Final = "a tool of the client's own has its name"
OWN_TOOL_NAME: Final = "pegboard_{}"
"""What a tool of the gateway's own is called where the client has one of its name."""
_TICKET: Final = ToolShape(TICKET_TOOL, TICKET.spec.description, readable_schema(TICKET.spec.input_schema))

_FUNCTIONS_NOTE: Final = "Among the functions that it may call: {}."


class PartKind(StrEnum):
    """In the order in which a prompt has them."""

    BASE = "base"
    FORMAT = "format"
    BUILTINS = "built-ins"
    TOOLS = "tools"
    CLIENT = "client's tools"


@dataclass(frozen=True, slots=True)
class PromptPart:
    kind: PartKind
    text: str
    why: str
    tokens: int
    separator: str = _SEPARATOR
    """What stands between it and the part before it: tools are one block, whosever they are."""
    in_tools_array: bool = False
    """Whether it goes into the `tools` array of the request and not into the system prompt."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model is told of."""

    shape: ToolShape
    id: ToolId | None
    """`None` where it is the client's own."""
    tokens: int
    """What it costs by itself."""


@dataclass(frozen=True)
class BuiltPrompt:
    capabilities: Capabilities
    parts: tuple[PromptPart, ...]
    offered_tools: tuple[OfferedTool, ...]
    """In the order in which the model reads them."""
    left_out: tuple[CapabilityDecision, ...]
    """What the budget had no room for, and what the client has tools of its own by the name of."""
    budget: int

    @property
    def system(self) -> str:
        told = [part for part in self.parts if not part.in_tools_array]
        return "".join((part.separator if place else "") + part.text for place, part in enumerate(told))

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def shapes(self) -> tuple[ToolShape, ...]:
        return tuple(each.shape for each in self.offered_tools)

    @property
    def callable(self) -> tuple[ToolShape, ...]:
        """What calls are read against: tool_search too where the model may call it without being told of it."""
        taken = any(each.id == _SEARCH_ID or each.shape.name == SEARCH for each in self.offered_tools)
        hidden = self.capabilities.may_search and not taken
        return (*self.shapes, *((SEARCH_SHAPE,) if hidden else ()))

    def tool(self, name: str) -> ToolId | None:
        """The tool of the board that the model means by a name in this prompt."""
        return next((each.id for each in self.offered_tools if each.shape.name == name), None)

    def decision(self, id: ToolId) -> CapabilityDecision:
        """Which step put a tool into this prompt or kept it out."""
        if id == TICKET_ID:
            return CapabilityDecision(
                CapabilityKind.BUILTIN, TICKET_TOOL, Availability.IN, "a call waits for a person's decision"
            )
        ruled = self.capabilities.decision(id)
        return next((each for each in self.left_out if each.subject == ruled.subject), ruled)


_Candidate: TypeAlias = tuple[PartKind, ToolShape, ToolId | None]
_SEARCH_ID: Final = ToolId(BuiltinKey(), SEARCH)


@dataclass(frozen=True)
class _Candidates:
    """In the order in which they are kept when the budget is short."""

    items: tuple["_Candidate", ...]
    clashes: tuple[CapabilityDecision, ...] = ()

    def of_kind(self, kind: PartKind, most: int) -> list[ToolShape]:
        return [shape for own, shape, _ in self.items[:most] if own is kind]


def build(
    capabilities: Capabilities,
    settings: PromptSettings,
    *,
    overrides: OverrideIndex | None = None,
    client: Sequence[ToolShape] = (),
    waiting: bool = False,
) -> BuiltPrompt:
    """`overrides` are those of the policy, for the words that people gave to tools; `client` are tools of whoever asks,
    which keep their names: a tool of the board that has one of them is told by a longer name, or left out. `waiting`
    tells how to wait for a person who must decide about a call.

    Over the budget the last of what was found goes first, then what is always shown, the client's tools and the
    built-ins; without any of these nothing is told of calling.
    """
    found = _candidates(capabilities, overrides, client, waiting)
    kept = _max_that_fit(
        len(found.items), lambda most: _cost(_parts(capabilities, settings, found, most)), settings.budget
    )
    parts = _parts(capabilities, settings, found, kept)
    if _cost(parts) > settings.budget:
        parts = ()
    return BuiltPrompt(
        capabilities=capabilities,
        parts=parts,
        offered_tools=_offered_tools(found, kept),
        left_out=(
            *found.clashes,
            *(_left_out_decision(shape, id, settings.budget) for _, shape, id in found.items[kept:]),
        ),
        budget=settings.budget,
    )


def visible_shape(
    id: ToolId, capabilities: Capabilities, overrides: OverrideIndex | None, taken: Sequence[str] = ()
) -> ToolShape:
    """A tool as a model is told of it: by the name in this view, and in the words that people gave it."""
    resolution = capabilities.resolution
    verdict = resolution.verdicts[id]
    assert isinstance(verdict, OpenTool), "only what is open is told of"
    spec = verdict.visible_tool.spec
    written = None if overrides is None else overrides.for_tool(id).description_override
    name = free_name(id, resolution, taken) or resolution.names[id]
    return ToolShape(name, spec.description if written is None else written, readable_schema(spec.input_schema))


def _candidates(
    capabilities: Capabilities, overrides: OverrideIndex | None, client: Sequence[ToolShape], waiting: bool
) -> _Candidates:
    if capabilities.primary is None:
        return _Candidates(())
    taken = [shape.name for shape in client]
    clashing: list[CapabilityDecision] = []
    own: list[_Candidate] = []
    for shape, id in _builtins(capabilities, overrides, waiting):
        free = shape if shape.name not in taken else replace(shape, name=OWN_TOOL_NAME.format(shape.name))
        if free.name in taken:
            clashing.append(CapabilityDecision(CapabilityKind.BUILTIN, shape.name, Availability.OUT, CLASH_REASON))
        else:
            own.append((PartKind.BUILTINS, free, id))
    beside: list[_Candidate] = [(PartKind.CLIENT, shape, None) for shape in client]
    board: list[_Candidate] = []
    taken += [shape.name for _, shape, _ in own]
    stubs = _stubs(capabilities, overrides)
    for id in capabilities.tools:
        if free_name(id, capabilities.resolution, taken) is None:
            clashing.append(CapabilityDecision(CapabilityKind.TOOL, str(id), Availability.OUT, CLASH_REASON))
        else:
            shape = visible_shape(id, capabilities, overrides, taken)
            board.append((PartKind.TOOLS, replace(shape, stub=stubs.get(id)), id))
    return _Candidates((*own, *beside, *board), tuple(clashing))


def _stubs(capabilities: Capabilities, overrides: OverrideIndex | None) -> Mapping[ToolId, Stub]:
    """In CodeMode tools are functions of a program."""
    if capabilities.primary != CODE_MODE:
        return {}
    names = program_names(capabilities.resolution)
    named = [each for each in map(names.function_of, capabilities.tools) if each is not None]
    return {each.function.id: each for each in stubs_with_overrides(named, capabilities.resolution, overrides)}


def _builtins(
    capabilities: Capabilities, overrides: OverrideIndex | None, waiting: bool
) -> Iterator[tuple[ToolShape, ToolId]]:
    for name in capabilities.builtins:
        id = ToolId(BuiltinKey(), name)
        if name == SEARCH:
            yield SEARCH_SHAPE, id
        elif name != PYTHON:
            yield visible_shape(id, capabilities, overrides), id
        elif capabilities.primary != CODE_MODE:
            # In CodeMode every program goes there by itself: the model does not call it by name.
            yield _python_shape(id, capabilities, overrides), id
    if waiting:
        yield _TICKET, TICKET_ID


def _python_shape(id: ToolId, capabilities: Capabilities, overrides: OverrideIndex | None) -> ToolShape:
    """python_execution for a model that calls tools in another format: told which functions its tools are."""
    if id in capabilities.resolution.verdicts or capabilities.programs is None:
        shape = visible_shape(id, capabilities, overrides)
    else:
        spec = capabilities.programs.tool.spec
        written = None if overrides is None else overrides.for_tool(id).description_override
        shape = ToolShape(PYTHON, spec.description if written is None else written, readable_schema(spec.input_schema))
    names = program_names(capabilities.resolution)
    functions = ", ".join(str(each) for each in map(names.function_of, capabilities.tools) if each is not None)
    if not functions:
        return shape
    return replace(shape, description=f"{shape.description}\n{_FUNCTIONS_NOTE.format(functions)}")


def _parts(
    capabilities: Capabilities, settings: PromptSettings, found: _Candidates, most: int
) -> tuple[PromptPart, ...]:
    parts: list[PromptPart] = []
    if settings.base:
        parts.append(_part(PartKind.BASE, settings.base, "it is what the settings say under prompts.base", first=True))
    groups = {kind: found.of_kind(kind, most) for kind in (PartKind.BUILTINS, PartKind.TOOLS, PartKind.CLIENT)}
    shapes = [shape for group in groups.values() for shape in group]
    if capabilities.primary is None or not (shapes or capabilities.primary == CODE_MODE):
        return tuple(parts)
    render: Callable[[Sequence[ToolShape]], str] = functions_text
    if not capabilities.is_native:
        format = FORMATS[capabilities.primary]
        render = format.tools_text
        why = f"{capabilities.primary} is the format in which this model calls tools"
        told = format.instructions(shapes)
        if capabilities.primary == CODE_MODE and capabilities.programs is not None:
            told = f"{told}\n{capabilities.programs.dialect}"
        parts.append(_part(PartKind.FORMAT, told, why, first=not parts))
    return (*parts, *_blocks(groups, render, capabilities))


def _blocks(
    groups: Mapping[PartKind, Sequence[ToolShape]],
    render: Callable[[Sequence[ToolShape]], str],
    capabilities: Capabilities,
) -> list[PromptPart]:
    """One block, because models are used to one, told as the parts that it is made of: what a rendering has in common
    with the next longer one is what the tools so far take of it."""
    present = [(kind, group) for kind, group in groups.items() if group]
    so_far: list[ToolShape] = []
    texts: list[str] = []
    for _, group in present:
        so_far += group
        texts.append(render(so_far))
    if not texts:
        return []
    whole, begun = texts[-1], 0
    parts: list[PromptPart] = []
    for place, (kind, _) in enumerate(present):
        end = (
            len(whole)
            if place == len(present) - 1
            else max(begun, common_prefix_length(texts[place], whole, min(len(texts[place]), len(whole))))
        )
        joint = "" if place else _SEPARATOR
        parts.append(
            _part(kind, whole[begun:end], _part_reason(kind, capabilities), joint=joint, beside=capabilities.is_native)
        )
        begun = end
    return parts


def _part_reason(kind: PartKind, capabilities: Capabilities) -> str:
    match kind:
        case PartKind.BUILTINS if not capabilities.builtins:
            return "a call waits for a person's decision"
        case PartKind.BUILTINS:
            return f"these built-ins are in: {', '.join(capabilities.builtins)}"
        case PartKind.CLIENT:
            return "the client brought them"
        case _:
            most = capabilities.model.max_found_tools
            return (
                f"they are always shown or were found, the best first; {capabilities.model.size_description}: "
                f"{most} at most"
            )


def _part(
    kind: PartKind, text: str, why: str, *, first: bool = False, joint: str = _SEPARATOR, beside: bool = False
) -> PromptPart:
    joint = "" if first else joint
    return PromptPart(kind, text, why, _tokens(joint + text), joint, beside)


def _cost(parts: Sequence[PromptPart]) -> int:
    return sum(part.tokens for part in parts)


def _max_that_fit(count: int, cost: Callable[[int], int], budget: int) -> int:
    """Nearly always all of them. Else by halves, because a prompt of fewer tools costs less; and what that finds is
    looked at again, because a format may not keep to it."""
    if count == 0 or cost(count) <= budget:
        return count
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        if cost(middle) <= budget:
            low = middle
        else:
            high = middle - 1
    while low and cost(low) > budget:
        low -= 1
    return low


def _offered_tools(found: _Candidates, kept: int) -> tuple[OfferedTool, ...]:
    order = {kind: place for place, kind in enumerate((PartKind.BUILTINS, PartKind.TOOLS, PartKind.CLIENT))}
    inside = sorted(found.items[:kept], key=lambda each: order[each[0]])
    return tuple(OfferedTool(shape, id, _tokens(functions_text([shape]))) for _, shape, id in inside)


def _left_out_decision(shape: ToolShape, id: ToolId | None, budget: int) -> CapabilityDecision:
    kind = CapabilityKind.BUILTIN if id is not None and isinstance(id.source, BuiltinKey) else CapabilityKind.TOOL
    why = f"the budget of {budget} tokens had no room for it"
    return CapabilityDecision(kind, shape.name if id is None else str(id), Availability.OUT, why)


@lru_cache(maxsize=512)
def _tokens(text: str) -> int:
    return estimate_tokens(text)


# A prompt as a person looks at it: what is not in it and why, what each toolset costs, and how to get it in Python.

CLIENT_TOOLSET = "the client's own"
"""Where tools belong to no toolset of the board."""


@dataclass(frozen=True, slots=True)
class ToolsetShare:
    toolset: str
    tools: int
    tokens: int


def excluded_decisions(prompt: BuiltPrompt) -> Iterator[CapabilityDecision]:
    """What could be in the prompt and is not: first what the budget had no room for, then what was decided before."""
    yield from prompt.left_out
    known = {each.subject for each in prompt.left_out}
    for ruling in prompt.capabilities.decisions():
        if ruling.availability is not Availability.IN and ruling.subject not in known:
            yield ruling


def toolset_costs(prompt: BuiltPrompt) -> tuple[ToolsetShare, ...]:
    """What each costs by its tools alone, the dearest first."""
    shares: dict[str, ToolsetShare] = {}
    for each in prompt.offered_tools:
        toolset = CLIENT_TOOLSET if each.id is None else str(each.id.toolset)
        before = shares.get(toolset, ToolsetShare(toolset, 0, 0))
        shares[toolset] = ToolsetShare(toolset, before.tools + 1, before.tokens + each.tokens)
    return tuple(sorted(shares.values(), key=lambda share: (-share.tokens, share.toolset)))


def python_example(model: str, said: str, primary: str | None, budget: int | None) -> str:
    """The same with the library, for functions of your own: three lines within `async with open_board(…) as board`."""
    settings = "" if budget is None else f", settings=PromptSettings(budget={budget})"
    reading = (
        'calls = answer["choices"][0]["message"].get("tool_calls", [])'
        if primary in (None, "native")
        else f"parsed = parse(FORMATS[{primary!r}], answer, told.prompt.callable)"
    )
    return "\n".join(
        (
            f"told = await board.prompt({said!r}, {model!r}{settings})",
            "answer = await send(told.request)  # your own client of the model's server",
            reading,
        )
    )
