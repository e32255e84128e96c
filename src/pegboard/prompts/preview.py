"""A prompt as a person looks at it: what is not in it and why, what each toolset costs, and how to get it in Python."""

from collections.abc import Iterator
from dataclasses import dataclass

from .building import Prompt
from .capability import Place, Ruling

CLIENT = "the client's own"
"""Where tools belong to no toolset of the board."""


@dataclass(frozen=True, slots=True)
class ToolsetShare:
    toolset: str
    tools: int
    tokens: int


def struck(prompt: Prompt) -> Iterator[Ruling]:
    """What could be in the prompt and is not: first what the budget had no room for, then what was decided before."""
    yield from prompt.left_out
    known = {each.subject for each in prompt.left_out}
    for ruling in prompt.capabilities.rulings():
        if ruling.place is not Place.IN and ruling.subject not in known:
            yield ruling


def by_toolset(prompt: Prompt) -> tuple[ToolsetShare, ...]:
    """What each costs by its tools alone, the dearest first."""
    shares: dict[str, ToolsetShare] = {}
    for each in prompt.offered:
        toolset = CLIENT if each.id is None else str(each.id.toolset)
        before = shares.get(toolset, ToolsetShare(toolset, 0, 0))
        shares[toolset] = ToolsetShare(toolset, before.tools + 1, before.tokens + each.tokens)
    return tuple(sorted(shares.values(), key=lambda share: (-share.tokens, share.toolset)))


def as_python(model: str, said: str, primary: str | None, budget: int | None) -> str:
    """The same with the library, for functions of your own: three lines within `async with open_board(…) as board`."""
    settings = "" if budget is None else f", settings=Prompting(budget={budget})"
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
