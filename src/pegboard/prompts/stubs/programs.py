"""The answer of a function search: one line or the whole stub for each tool."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import OverrideIndex
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.code import FunctionDetail
from pegboard.core.presentations.entries import first_sentence
from pegboard.prompts.stubs.names import ProgramFunction, ProgramNames
from pegboard.prompts.stubs.render import HEADER, Stub, function_line, module_stubs, one_line, unknown_function

# The stubs that one program needs, of the tools that its caller sees: those that it mentions, and no others.

MAX_STUBS_LENGTH: Final = 400_000
"""Characters of all stubs of one program. What goes beyond that can be called, and its types are not told."""


def program_names(resolution: Resolution) -> ProgramNames:
    """Of all tools that this caller may know of."""
    return ProgramNames.of(resolution.names, resolution.locked_ids)


def visible_spec(id: ToolId, resolution: Resolution, overrides: OverrideIndex | None) -> ToolSpec | None:
    """As this caller sees the tool, in the words that people gave it; nothing of one that is not open to it."""
    verdict = resolution.verdicts.get(id)
    if not isinstance(verdict, OpenTool):
        return None
    spec = verdict.visible_tool.spec
    written = None if overrides is None else overrides.for_tool(id).description_override
    return spec if written is None else replace(spec, description=written)


def program_stubs(
    code: str, resolution: Resolution, policy: Policy, names: ProgramNames | None = None
) -> tuple[Stub, ...]:
    """In the order in which the program mentions them. `names` are those of the resolution, where they are known."""
    named = (program_names(resolution) if names is None else names).mentioned_functions(code)
    return stubs_for(named, resolution, policy)


def stubs_for(
    each: Iterable[ProgramFunction], resolution: Resolution, policy: Policy, *, most: int | None = MAX_STUBS_LENGTH
) -> tuple[Stub, ...]:
    """`most` characters of all of them together."""
    return stubs_with_overrides(each, resolution, policy.overrides, most=most)


def stubs_with_overrides(
    each: Iterable[ProgramFunction],
    resolution: Resolution,
    overrides: OverrideIndex | None,
    *,
    most: int | None = MAX_STUBS_LENGTH,
) -> tuple[Stub, ...]:
    modules: dict[str, list[ProgramFunction]] = {}
    for named in each:
        modules.setdefault(named.module, []).append(named)
    room = math.inf if most is None else most
    found: list[Stub] = []
    for inside in modules.values():
        for stub in module_stubs((named, visible_spec(named.id, resolution, overrides)) for named in inside):
            room -= len(stub.text)
            found.append(stub if room >= 0 else Stub(stub.function, unknown_function(stub.function.function)))
    return tuple(found)


def module_text(stubs: Iterable[Stub]) -> str:
    """A whole module, as an editor reads it."""
    return "\n\n\n".join((HEADER, *(stub.text for stub in stubs))) + "\n"


NOTHING_FOUND: Final = "Nothing was found. Say it in other words."
_NAME: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,79})\.([A-Za-z_]\w{0,79})(?![\w.])", re.ASCII)
_MAX_NAMED: Final = 50


def named_tools(query: str, names: ProgramNames) -> Sequence[ToolId]:
    """The tools whose functions the query names."""
    pairs = list(dict.fromkeys(_NAME.findall(query)))[:_MAX_NAMED]
    return [id for module, function in pairs if (id := names.tool_of(module, function)) is not None]


def search_result_text(
    answer: JsonObject,
    named: Sequence[ToolId],
    limit: int,
    told: FunctionDetail,
    resolution: Resolution,
    policy: Policy,
    names: ProgramNames,
) -> str:
    """Of what a retrieval answered, after those that the query `named`."""
    entries = answer["tools"]
    assert isinstance(entries, list)
    found = (resolution.find_tool(str(entry["name"])) for entry in entries if isinstance(entry, dict))
    ids = dict.fromkeys((*named, *(id for id in found if id is not None)))
    opened = [id for id in ids if isinstance(resolution.verdicts.get(id), OpenTool)]
    functions = [each for each in map(names.function_of, opened) if each is not None][:limit]
    parts = [
        _stubs(functions, resolution, policy) if told is FunctionDetail.STUB else _lines(functions, resolution, policy)
    ]
    parts += _locked_section(answer)
    notice = answer.get("notice")
    if isinstance(notice, str):
        parts.append(notice)
    return "\n\n".join(filter(None, parts)) or NOTHING_FOUND


def _lines(functions: Sequence[ProgramFunction], resolution: Resolution, policy: Policy) -> str:
    said: list[str] = []
    for named in functions:
        spec = visible_spec(named.id, resolution, policy.overrides)
        if spec is not None:
            about = first_sentence(one_line(spec.description))
            said.append(f"# {about}\n{function_line(named, spec)}" if about else function_line(named, spec))
    return "\n".join(said)


def _stubs(functions: Sequence[ProgramFunction], resolution: Resolution, policy: Policy) -> str:
    modules: dict[str, list[str]] = {}
    for stub in stubs_for(functions, resolution, policy):
        modules.setdefault(stub.function.module, []).append(stub.text)
    return "\n\n".join(f"# functions of {module}\n\n" + "\n\n".join(texts) for module, texts in modules.items())


def _locked_section(answer: JsonObject) -> Iterator[str]:
    """In the words of the retrieval."""
    entries, remedies = answer.get("disabled"), answer.get("remediation")
    if isinstance(entries, list) and entries:
        yield "\n".join(("Locked, so that no program can call them:", *map(_locked_line, entries)))
    if isinstance(remedies, dict):
        yield "\n".join(f"{status}: {remedy}" for status, remedy in remedies.items())


def _locked_line(entry: Json) -> str:
    assert isinstance(entry, dict)
    about = one_line(str(entry["description"]))
    return f"- {entry['name']} of {entry['server']} ({entry['status']}){f': {about}' if about else ''}"
