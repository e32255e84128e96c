"""What a search for functions answers: each as a line of Python or as its whole stub, in a text for a model."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.policy import Policy
from pegboard.core.presentations.code import FunctionDetail
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.signature import first_sentence
from pegboard.core.tool import Json, JsonObject

from .docstrings import one_line
from .lines import function_line
from .names import ProgramFunction, ProgramNames
from .programs import stubs_for, visible_spec

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
