"""Facts about a model that decide what it is told: its size, its family, and what it was trained to write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from pegboard.core.prompting import KnownModel
from pegboard.core.tool import Json

from .families import Family, find_family
from .sizes import billions_in_metadata, size_in_name

MEDIUM_BILLIONS: Final = 7.0
LARGE_BILLIONS: Final = 30.0
FEW, SOME, MANY = 2, 5, 10


@dataclass(frozen=True, slots=True)
class Model:
    billions: float | None = None
    """Of parameters; `None` where nobody knows."""
    name: str = ""
    tool_calling: bool = False
    """Whether its server takes a `tools` array for it and gives back calls."""
    family: str = ""
    format: str = ""
    """The one that it was trained on; empty where nobody knows."""
    thinking: bool = False
    """Whether it thinks aloud before it answers."""
    opens_thinking: bool = False
    """Whether its prompt opens its thinking, so that what it writes begins inside."""
    is_large: bool = False
    """Known to be a large one whose size its maker does not tell."""
    fact_sources: tuple[str, ...] = ()
    """Where each fact is from, a sentence each."""

    @property
    def max_found_tools(self) -> int:
        """How many tools that a search found it is shown: a small model loses its way among many."""
        if self.billions is None:
            return MANY if self.is_large else FEW
        if self.billions < MEDIUM_BILLIONS:
            return FEW
        return SOME if self.billions <= LARGE_BILLIONS else MANY

    @property
    def size_description(self) -> str:
        """In a clause, for whoever asks why it is shown that many."""
        if self.billions is None and self.is_large:
            return "the model is a large one, though its maker tells no number of parameters"
        if self.billions is None:
            return "the size of the model is unknown, so it is taken for a small one"
        told = f"the model has {self.billions:g} billion parameters"
        if self.billions < MEDIUM_BILLIONS:
            return f"{told}, fewer than {MEDIUM_BILLIONS:g}"
        return (
            f"{told}, {MEDIUM_BILLIONS:g} to {LARGE_BILLIONS:g}"
            if self.billions <= LARGE_BILLIONS
            else f"{told}, more than {LARGE_BILLIONS:g}"
        )


def model_facts(name: str, metadata: Mapping[str, Json] | None = None, known: Sequence[KnownModel] = ()) -> Model:
    """What can be known of a model by its name. The operator's word goes first, then what its server tells of it
    (`metadata`, as model servers write it), then its name, then its family."""
    told, family = metadata or {}, find_family(name)
    said = _operator_facts(name, known)
    billions, sized = _billions_fact(name, told, said, family)
    tool_calling, calls = _tool_calling_fact(told, said, family)
    thinking, thinks = _thinking_fact(told, said, family)
    format, written = _format_fact(said, family)
    return Model(
        billions=billions,
        name=name,
        tool_calling=tool_calling,
        family=family.name,
        format=format,
        thinking=thinking,
        opens_thinking=bool(said.opens_thinking),
        is_large=billions is None and family.is_large,
        fact_sources=(sized, calls, written, thinks),
    )


def _operator_facts(name: str, known: Sequence[KnownModel]) -> KnownModel:
    """Fact by fact the first row that tells it, so that a narrow pattern above a wide one has its say."""
    fitting = [row for row in known if fnmatchcase(name.casefold(), row.pattern.casefold())]

    def first(fact: str) -> object:
        return next((value for row in fitting if (value := getattr(row, fact)) is not None), None)

    pattern = ", ".join(row.pattern for row in fitting)
    facts = ("billions", "tool_calling", "format", "thinking", "opens_thinking")
    return KnownModel(pattern, *(first(fact) for fact in facts))  # type: ignore[arg-type]  # each of its own field


def _billions_fact(name: str, told: Mapping[str, Json], said: KnownModel, family: Family) -> tuple[float | None, str]:
    if said.billions is not None:
        return said.billions, f"Size: {said.billions:g} billion, as models says for {said.pattern!r}."
    if (served := billions_in_metadata(told)) is not None:
        return served, f"Size: {served:g} billion, as its server tells."
    if (written := size_in_name(name)) is not None:
        return written, f"Size: {written:g} billion, by its name."
    if family.billions is not None:
        return family.billions, f"Size: {family.billions:g} billion, as {family.name} has."
    if family.is_large:
        return None, f"Size: {family.name} is large; its maker tells no number."
    return None, "Size: unknown, so it is taken for a small one. Say it under models in pegboard.yaml."


def _tool_calling_fact(told: Mapping[str, Json], said: KnownModel, family: Family) -> tuple[bool, str]:
    if said.tool_calling is not None:
        return (
            said.tool_calling,
            f"Native tool calling: {_yes_or_no(said.tool_calling)}, as models says for {said.pattern!r}.",
        )
    if (served := _server_flag(told, "tools", "supportsToolCalling", "tool_calling")) is not None:
        return served, f"Native tool calling: {_yes_or_no(served)}, as its server tells."
    where = f"as {family.name} is known" if family.name else "because nothing is known of its family"
    return family.tool_calling, f"Native tool calling: {_yes_or_no(family.tool_calling)}, {where}."


def _thinking_fact(told: Mapping[str, Json], said: KnownModel, family: Family) -> tuple[bool, str]:
    if said.thinking is not None:
        return said.thinking, f"Thinks aloud: {_yes_or_no(said.thinking)}, as models says for {said.pattern!r}."
    if (served := _server_flag(told, "thinking", "reasoning", "supportsReasoning")) is not None:
        return served, f"Thinks aloud: {_yes_or_no(served)}, as its server tells."
    where = f"as {family.name} is known" if family.name else "because nothing is known of its family"
    return family.thinking, f"Thinks aloud: {_yes_or_no(family.thinking)}, {where}."


def _format_fact(said: KnownModel, family: Family) -> tuple[str, str]:
    if said.format is not None:
        return said.format, f"Format: {said.format}, as models says for {said.pattern!r}."
    if family.format:
        return family.format, f"Format: {family.format}, which {family.name} was trained on."
    return "", "Format: none is known to be its own."


def _server_flag(told: Mapping[str, Json], word: str, *flags: str) -> bool | None:
    """By a list of capabilities, or by a flag of its own; both occur among model servers."""
    for place in (told, told.get("details"), told.get("meta")):
        if not isinstance(place, Mapping):
            continue
        if isinstance(listed := place.get("capabilities"), list):
            return word in listed
        for flag in (word, *flags):
            if isinstance(value := place.get(flag), bool):
                return value
    return None


def _yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"
