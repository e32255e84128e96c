"""What importing a toolset would change, in words for whoever decides; and of which tools those words are all there is.

Texts of others stand in it harmless, and cut where they are long: what was cut, nobody has read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from pegboard.core.commands.toolset_install import InstallToolset
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Verdict, resolve
from pegboard.core.decision.status import LockStatus, OwnerOff, ServerInQuarantine, explain_reason, remedy
from pegboard.core.decision.visibility import explain_hidden, hidden_remedy
from pegboard.core.model.catalogue import Catalogue, Listing, ProviderAsleep, build_catalogue
from pegboard.core.model.ids import ProviderKey, ServerKey, ToolId
from pegboard.core.model.redaction import redact_line
from pegboard.core.model.selection import View
from pegboard.core.model.text import Audience, quote_name
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.core.review.diff import describe_change, diff_specs
from pegboard.core.toolsets.preview import InstallDifferences, PartChange, PartDifference, ToolDifference, VersionChange

if TYPE_CHECKING:
    from pegboard.core.scan.findings import ScanFinding


MAX_CHANGES: Final = 20
"""Of one tool that are told in words."""
_MAX_LINES: Final = 40
_MAX_TEXT_CHARS: Final = 1_000
_ELLIPSIS: Final = "…"
_NO_FINDINGS: Final[Mapping[ToolId, tuple["ScanFinding", ...]]] = {}
_OMITTED_STEPS: Final = frozenset({"inputSchema", "properties"})


def describe_install(
    found: InstallDifferences, notes: Mapping[ToolId, tuple["ScanFinding", ...]] = _NO_FINDINGS
) -> tuple[str, ...]:
    """A line for each thing, the most important first. `notes` are what the scanner says of tools that are new or
    changed."""
    return (
        _headline(found),
        *(f"asks for the secret {quote_name(name)}" for name in found.secrets),
        *(_describe_requirement(each) for each in found.requirements),
        *(
            line
            for each in found.tools
            for line in (*_describe_tool(each), *_describe_findings(notes.get(each.tool, ())))
        ),
        *(line for each in found.executed_parts for line in _describe_executed_part(found, each)),
        *(line for each in found.servers for line in _describe_part("server", each)),
        *(line for each in found.containers for line in _describe_part("container", each)),
        *(line for each in found.overrides for line in _describe_part("override of", each)),
        *(
            f"{quote_name(tool)} waits for approval, because {_explain_change(found, tool)}"
            for tool in found.reworded_tools
        ),
        *found.run_changes,
        *(f"another {name}" for name in found.changed_fields),
        *_describe_files(found.files),
    )


def partly_described_tools(found: InstallDifferences) -> frozenset[ToolId]:
    """Tools that are new or changed, and of which these words leave something out: each has to be read by itself."""
    cut = {each.tool for each in found.tools if _is_partly_described(each)}
    said = [text for each in found.overrides for text in each.details]
    return frozenset(cut | ({*found.reworded_tools} if any(_ELLIPSIS in text for text in said) else set()))


def _is_partly_described(each: ToolDifference) -> bool:
    if each.after is None or (each.before is not None and not _is_cut(_describe_spec_changes(each.before, each.after))):
        return False
    return _is_cut([*_describe_new_tool(each.after)])


def _is_cut(lines: Sequence[str]) -> bool:
    return any(_ELLIPSIS in line for line in lines)


def _explain_change(found: InstallDifferences, tool: ToolId) -> str:
    if tool in found.tools_losing_confirmation:
        return "its calls would run without asking, and were asked about"
    return "it is shown in another way"


def _describe_requirement(each: PartDifference) -> str:
    if each.change is PartChange.REMOVED:
        return f"does not require the package {quote_name(each.name)} any more"
    return f"requires the package {quote_name(each.name)}, installed for it alone"


def _headline(found: InstallDifferences) -> str:
    before, after = (quote_name(version) if version else "no version" for version in (found.before, found.after))
    match found.version_change:
        case VersionChange.FIRST:
            return f"toolset {found.toolset} is new ({after})"
        case VersionChange.SAME:
            return f"toolset {found.toolset} stays at {after}{': nothing changes' if found.is_empty else ''}"
        case course:
            return f"toolset {found.toolset}: {course.value} from {before} to {after}"


def _describe_tool(each: ToolDifference) -> Iterator[str]:
    yield f"tool {quote_name(each.tool)} {each.change.value}"
    if each.after is None:
        return
    if each.before is None:
        yield from _describe_new_tool(each.after)
        return
    changes = _describe_spec_changes(each.before, each.after)
    yield from changes
    if _is_cut(changes):
        yield "  It says now:"
        yield from _describe_new_tool(each.after)


def _describe_spec_changes(before: ToolSpec, after: ToolSpec) -> list[str]:
    found = diff_specs(before, after)
    told = [f"  {describe_change(change)}" for change in found[:MAX_CHANGES]]
    left = len(found) - MAX_CHANGES
    return [*told, f"  {_ELLIPSIS} and {left:,} more"] if left > 0 else told


def _describe_new_tool(spec: ToolSpec) -> Iterator[str]:
    """All that a model would read of it, line by line behind a bar, so that no line of it looks like one of ours."""
    from pegboard.core.scan.text import spec_texts

    lines: list[str] = []
    names = spec.input_schema.get("properties")
    if isinstance(names, Mapping) and names:
        lines.append(f"  takes {', '.join(map(quote_name, names))}")
    for place, text in spec_texts(spec):
        path = place.path()
        if text and not place.is_key and path != ("name",) and "required" not in path and not text.startswith("#/"):
            where = _path_prefix(path)
            shown = redact_line(text.strip(), _MAX_TEXT_CHARS).splitlines() or [""]
            lines += [f"  | {where}{shown[0]}", *(f"  | {line}" for line in shown[1:])]
    yield from lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        yield f"  {_ELLIPSIS} and {len(lines) - _MAX_LINES:,} more lines"


def _path_prefix(path: tuple[str | int, ...]) -> str:
    """A parameter by its name, whose description is the usual thing to say of it."""
    told = [str(part) for part in path if part not in _OMITTED_STEPS]
    told = told[:-1] if told[-1:] == ["description"] else told
    return f"{redact_line('.'.join(told), 100)}: " if told else ""


def _describe_findings(findings: tuple["ScanFinding", ...]) -> Iterator[str]:
    for finding in findings[:MAX_CHANGES]:
        excerpt = f" {quote_name(finding.excerpt)}" if finding.excerpt else ""
        yield f"  ! {finding.severity.value}: {finding.sentence}{excerpt}"


def _describe_part(what: str, each: PartDifference) -> Iterator[str]:
    settings = f": {', '.join(map(quote_name, each.settings))}" if each.settings else ""
    yield f"{what} {quote_name(each.name)} {each.change.value}{settings}"
    yield from (f"  {line}" for line in each.details)


def _describe_executed_part(found: InstallDifferences, each: PartDifference) -> Iterator[str]:
    now, *before = each.details
    yield f"tool {found.toolset}:{quote_name(each.name)} {now}"
    yield from (f"  {line}" for line in before)


def _describe_files(files: tuple[PartDifference, ...]) -> Iterator[str]:
    """By their number: there may be thousands."""
    for how in PartChange:
        such = [quote_name(each.name) for each in files if each.change is how]
        if such:
            more = f" and {len(such) - 3:,} more" if len(such) > 3 else ""
            yield f"{len(such):,} file{'' if len(such) == 1 else 's'} {how.value}: {', '.join(such[:3])}{more}"


# What of a toolset is not open on a board, and why: told when it is imported, by the resolver that decides.


@dataclass(frozen=True)
class LockedPart:
    """A tool; or a server whose tools nobody knows yet, and of which none would be open."""

    about: ToolId | ServerKey
    status: LockStatus | None
    """`None` where it is absent from the view, and not locked."""
    sentence: str
    remedy: str


def locked_after_install(
    known: Catalogue, policy: Policy, install: InstallToolset, view: View, at: datetime
) -> tuple[LockedPart, ...]:
    """In a policy that has it. What runs it is taken to be at rest: that it starts just now is no reason to tell, and a
    call starts it."""
    own = tuple(Tool(id, spec) for id, spec in install.specs.items())
    listed = {server.key: known.listings.get(server.key) for server in install.servers}
    tools: dict[ProviderKey, tuple[Tool, ...]] = {
        key: () if word is None else word.tools for key, word in listed.items() if isinstance(key, ServerKey)
    }
    silent = {key for key, some in tools.items() if not some}
    tools |= {key: (_placeholder_tool(key),) for key in silent if isinstance(key, ServerKey)}
    tools |= {key: own for key in listed if not isinstance(key, ServerKey)}
    resting = [Listing(key, ProviderAsleep(at), some) for key, some in tools.items()]
    verdicts = resolve(build_catalogue((*known.listings.values(), *resting)), policy, view).verdicts
    mine = [(tool.id, verdicts[tool.id]) for some in tools.values() for tool in some]
    return tuple(found for id, verdict in mine for found in _describe_verdict(id, verdict, id.source in silent))


def _placeholder_tool(key: ServerKey) -> Tool:
    """In the place of tools that nobody knows yet: what holds of it holds of all of them."""
    return Tool(ToolId(key, "*"), ToolSpec("*", None, "", {}))


def _describe_verdict(id: ToolId, verdict: Verdict, is_any: bool) -> Iterator[LockedPart]:
    about = id.source if is_any and isinstance(id.source, ServerKey) else id
    match verdict:
        case HiddenTool(_, removed):
            yield LockedPart(about, None, explain_hidden(removed), hidden_remedy(removed, id))
        case LockedTool(_, reason) if not is_any or isinstance(reason, OwnerOff | ServerInQuarantine):
            yield LockedPart(about, verdict.status, explain_reason(reason), remedy(reason, Audience.OPERATOR))
        case LockedTool() | OpenTool():
            return
