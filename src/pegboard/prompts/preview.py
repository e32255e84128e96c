"""A prompt as a person looks at it: what is not in it and why, what each toolset costs, and how to get it in Python."""

from collections.abc import Iterator
from dataclasses import dataclass

from .building import BuiltPrompt
from .capability import Availability, CapabilityDecision

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
