"""What a search for tools answers: callable ones first, and of locked ones just what may be told."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from .folded import Folded
from .ids import ToolId
from .nesting import deeper_than
from .policy import Policy
from .resolve import Locked, Open, Resolution
from .status import general_remedy
from .told import told
from .tool import Json, JsonObject, Tool, ToolSpec

FEW: Final = 10
"""How many callable tools an answer holds when nobody says."""

MOST: Final = 100
MOST_LOCKED: Final = 10
BLANK: Final = "this is blank; say in a few words what you want to do"
LONGEST_QUERY: Final = 2_000

_DEEPEST: Final = 100
_ANY_OBJECT: Final[JsonObject] = {"type": "object"}
_UNANNOTATED: Final = ToolSpec("")

Rank: TypeAlias = Callable[[str, Collection[ToolId]], Sequence[ToolId]]
"""Those of the tools that fit the words of a query, the best first. What is not among them changes nothing of that."""


@dataclass(frozen=True)
class Retrieval:
    query: str
    limit: int = FEW
    include_disabled: bool = False
    read_only_only: bool = False
    exclude_destructive: bool = False
    exclude_open_world: bool = False


def retrieved(asked: Retrieval, resolution: Resolution, policy: Policy, rank: Rank) -> JsonObject:
    """The whole answer, the same by every road. The limit counts callable tools, after filtering."""
    ranked = rank(asked.query, [tool.id for tool in resolution.open()])
    found = [verdict.shown for id in ranked if isinstance(verdict := resolution.verdicts[id], Open)]
    kept = [tool for tool in found if not _hiding(asked, tool.spec)]
    answer: JsonObject = {"tools": [_entry(tool, resolution, policy) for tool in kept[: asked.limit]]}
    if len(kept) < len(found):
        answer["filter_diagnostics"] = _diagnostics(asked, found, len(found) - len(kept))
    if kept and not asked.include_disabled:
        return answer
    matching = _locked(asked, resolution, policy, rank)
    # Of what is withheld nothing is claimed: the protocol's defaults hold for it.
    locked = [verdict for verdict, spec in matching if not _hiding(asked, spec or _UNANNOTATED)]
    if asked.include_disabled and len(locked) < len(matching):
        known = _diagnostics(asked, found, len(found) - len(kept))
        hidden = _locked_diagnostics(asked, [spec for _, spec in matching], len(matching) - len(locked))
        answer["filter_diagnostics"] = {**known, "locked": hidden}
    if not locked:
        return answer
    if not asked.include_disabled:
        return {**answer, "notice": _notice(len(locked))}
    shown = locked[: min(asked.limit, MOST_LOCKED)]
    return {
        **answer,
        "disabled": [_locked_entry(verdict, resolution, policy) for verdict in shown],
        "remediation": _remediation(shown),
    }


def _locked(
    asked: Retrieval, resolution: Resolution, policy: Policy, rank: Rank
) -> Sequence[tuple[Locked, ToolSpec | None]]:
    """Each with what may be told of it."""
    ranked = rank(asked.query, [verdict.tool.id for verdict in resolution.locked()])
    verdicts = [verdict for id in ranked if isinstance(verdict := resolution.verdicts[id], Locked)]
    return [(verdict, told(verdict.tool, policy)) for verdict in verdicts]


def _entry(tool: Tool, resolution: Resolution, policy: Policy) -> JsonObject:
    look, spec = policy.overrides.for_tool(tool.id), tool.spec
    schema = spec.input_schema
    deep = not isinstance(schema, Folded) or deeper_than(_DEEPEST, schema.text)
    members: dict[str, Json] = {
        "name": resolution.names[tool.id],
        "server": str(tool.id.source),
        "title": spec.title if look.name_override is None else look.name_override,
        "description": spec.description if look.description_override is None else look.description_override,
        "inputSchema": dict(_ANY_OBJECT if deep else schema),
        "annotations": dict(spec.annotations) if spec.annotations else None,
    }
    return {key: value for key, value in members.items() if value is not None}


def _locked_entry(verdict: Locked, resolution: Resolution, policy: Policy) -> JsonObject:
    id = verdict.tool.id
    spec, written = told(verdict.tool, policy), policy.overrides.for_tool(id).description_override
    description = "" if spec is None else spec.description if written is None else written
    return {
        "name": resolution.names[id],
        "server": str(id.source),
        "description": description,
        "status": verdict.status.value,
    }


def _remediation(locked: Sequence[Locked]) -> JsonObject:
    """In the words of a refused call, for any tool; where tools of one status have several remedies, each on a line of
    its own."""
    remedies: dict[str, dict[str, None]] = {}
    for verdict in locked:
        remedies.setdefault(verdict.status.value, {})[general_remedy(verdict.reason)] = None
    return {status: "\n".join(texts) for status, texts in remedies.items()}


def _notice(count: int) -> str:
    what = "1 matching tool exists but is locked" if count == 1 else f"{count} matching tools exist but are locked"
    return f"{what}. Search again with include_disabled to see which, why, and what unlocks them."


_HINTS: Final = {
    "read_only_only": "readOnlyHint",
    "exclude_destructive": "destructiveHint",
    "exclude_open_world": "openWorldHint",
}
"""The annotation that each filter looks at."""

_SUGGESTION: Final = (
    "A tool without the annotation that a filter looks at is left out, whatever it does. "
    "Search without the filter to see it."
)


def _hiding(asked: Retrieval, spec: ToolSpec) -> Sequence[str]:
    """The filters that leave this tool out. Annotations are claims; where one is missing, the protocol's default is."""
    hints = spec.hints
    hides = {
        "read_only_only": asked.read_only_only and not hints.read_only,
        "exclude_destructive": asked.exclude_destructive and hints.destructive and not hints.read_only,
        "exclude_open_world": asked.exclude_open_world and hints.open_world,
    }
    return [name for name, hidden in hides.items() if hidden]


def _diagnostics(asked: Retrieval, found: Sequence[Tool], omitted: int) -> JsonObject:
    """What the filters left out of the callable matches, by filter: because the tool says so, or says nothing."""
    tallies: dict[str, dict[str, int]] = {}
    for tool in found:
        for name in _hiding(asked, tool.spec):
            tally = tallies.setdefault(name, {"missing_annotation": 0, "explicit": 0})
            tally["explicit" if _claims(tool.spec.annotations, _HINTS[name]) else "missing_annotation"] += 1
    diagnostics = _counted(len(found), omitted, tallies)
    if any(tally["missing_annotation"] for tally in tallies.values()):
        diagnostics["suggestion"] = _SUGGESTION
    return diagnostics


def _locked_diagnostics(asked: Retrieval, matching: Sequence[ToolSpec | None], omitted: int) -> JsonObject:
    """The same of locked matches. What nobody has approved is withheld, its annotations too, and so claims nothing."""
    tallies: dict[str, dict[str, int]] = {}
    for spec in matching:
        for name in _hiding(asked, spec or _UNANNOTATED):
            tally = tallies.setdefault(name, {"withheld": 0, "missing_annotation": 0, "explicit": 0})
            claims = spec is not None and _claims(spec.annotations, _HINTS[name])
            tally["withheld" if spec is None else "explicit" if claims else "missing_annotation"] += 1
    return _counted(len(matching), omitted, tallies)


def _counted(matched: int, omitted: int, tallies: Mapping[str, Mapping[str, int]]) -> JsonObject:
    by_filter: JsonObject = {name: {**tallies[name]} for name in _HINTS if name in tallies}
    return {"matched_before_filters": matched, "omitted_total": omitted, "omitted_by_filter": by_filter}


def _claims(annotations: Mapping[str, Json] | None, hint: str) -> bool:
    return annotations is not None and isinstance(annotations.get(hint), bool)
