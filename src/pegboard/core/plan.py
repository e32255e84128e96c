"""What importing a toolset would change, in words for whoever decides; and of which tools those words are all there is.

Texts of others stand in it harmless, and cut where they are long: what was cut, nobody has read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from .diff import diff, sentence
from .ids import ToolId
from .installing import Course, Differences, How, PartDifference, ToolDifference
from .redact import safe_text
from .said import plainly
from .tool import ToolSpec

if TYPE_CHECKING:
    # What the scanner knows takes two megabytes.
    from .scan import Finding

MOST_CHANGES: Final = 20
"""Of one tool that are told in words."""
_MOST_LINES: Final = 40
_LONGEST: Final = 1_000
_CUT: Final = "…"
_NONE: Final[Mapping[ToolId, tuple["Finding", ...]]] = {}
_UNTOLD: Final = frozenset({"inputSchema", "properties"})


def words(found: Differences, notes: Mapping[ToolId, tuple["Finding", ...]] = _NONE) -> tuple[str, ...]:
    """A line for each thing, the most important first. `notes` are what the scanner says of tools that are new or
    changed."""
    return (
        _headline(found),
        *(f"asks for the secret {plainly(name)}" for name in found.secrets),
        *(_requirement(each) for each in found.requirements),
        *(line for each in found.tools for line in (*_tool_words(each), *_note_words(notes.get(each.tool, ())))),
        *(line for each in found.executed for line in _executed_words(found, each)),
        *(line for each in found.servers for line in _part_words("server", each)),
        *(line for each in found.containers for line in _part_words("container", each)),
        *(line for each in found.overrides for line in _part_words("override of", each)),
        *(f"{plainly(tool)} waits for approval, because {_why(found, tool)}" for tool in found.reworded),
        *found.running,
        *(f"another {name}" for name in found.about),
        *_file_words(found.files),
    )


def told_in_part(found: Differences) -> frozenset[ToolId]:
    """Tools that are new or changed, and of which these words leave something out: each has to be read by itself."""
    cut = {each.tool for each in found.tools if _is_told_in_part(each)}
    said = [text for each in found.overrides for text in each.told]
    return frozenset(cut | ({*found.reworded} if any(_CUT in text for text in said) else set()))


def _is_told_in_part(each: ToolDifference) -> bool:
    if each.after is None or (each.before is not None and not _is_cut(_changes(each.before, each.after))):
        return False
    return _is_cut([*_new_words(each.after)])


def _is_cut(lines: Sequence[str]) -> bool:
    return any(_CUT in line for line in lines)


def _why(found: Differences, tool: ToolId) -> str:
    if tool in found.unasked:
        return "its calls would run without asking, and were asked about"
    return "it is shown in another way"


def _requirement(each: PartDifference) -> str:
    if each.how is How.REMOVED:
        return f"does not require the package {plainly(each.name)} any more"
    return f"requires the package {plainly(each.name)}, installed for it alone"


def _headline(found: Differences) -> str:
    before, after = (plainly(version) if version else "no version" for version in (found.before, found.after))
    match found.course:
        case Course.FIRST:
            return f"toolset {found.toolset} is new ({after})"
        case Course.SAME:
            return f"toolset {found.toolset} stays at {after}{': nothing changes' if found.is_nothing else ''}"
        case course:
            return f"toolset {found.toolset}: {course.value} from {before} to {after}"


def _tool_words(each: ToolDifference) -> Iterator[str]:
    yield f"tool {plainly(each.tool)} {each.how.value}"
    if each.after is None:
        return
    if each.before is None:
        yield from _new_words(each.after)
        return
    changes = _changes(each.before, each.after)
    yield from changes
    if _is_cut(changes):
        yield "  It says now:"
        yield from _new_words(each.after)


def _changes(before: ToolSpec, after: ToolSpec) -> list[str]:
    found = diff(before, after)
    told = [f"  {sentence(change)}" for change in found[:MOST_CHANGES]]
    left = len(found) - MOST_CHANGES
    return [*told, f"  {_CUT} and {left:,} more"] if left > 0 else told


def _new_words(spec: ToolSpec) -> Iterator[str]:
    """All that a model would read of it, line by line behind a bar, so that no line of it looks like one of ours."""
    from .scan.places import texts

    lines: list[str] = []
    names = spec.input_schema.get("properties")
    if isinstance(names, Mapping) and names:
        lines.append(f"  takes {', '.join(map(plainly, names))}")
    for place, text in texts(spec):
        path = place.path()
        if text and not place.is_key and path != ("name",) and "required" not in path and not text.startswith("#/"):
            where = _where(path)
            shown = safe_text(text.strip(), _LONGEST).splitlines() or [""]
            lines += [f"  | {where}{shown[0]}", *(f"  | {line}" for line in shown[1:])]
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"  {_CUT} and {len(lines) - _MOST_LINES:,} more lines"


def _where(path: tuple[str | int, ...]) -> str:
    """A parameter by its name, whose description is the usual thing to say of it."""
    told = [str(part) for part in path if part not in _UNTOLD]
    told = told[:-1] if told[-1:] == ["description"] else told
    return f"{safe_text('.'.join(told), 100)}: " if told else ""


def _note_words(findings: tuple["Finding", ...]) -> Iterator[str]:
    for finding in findings[:MOST_CHANGES]:
        excerpt = f" {plainly(finding.excerpt)}" if finding.excerpt else ""
        yield f"  ! {finding.severity.value}: {finding.sentence}{excerpt}"


def _part_words(what: str, each: PartDifference) -> Iterator[str]:
    settings = f": {', '.join(map(plainly, each.settings))}" if each.settings else ""
    yield f"{what} {plainly(each.name)} {each.how.value}{settings}"
    yield from (f"  {line}" for line in each.told)


def _executed_words(found: Differences, each: PartDifference) -> Iterator[str]:
    now, *before = each.told
    yield f"tool {found.toolset}:{plainly(each.name)} {now}"
    yield from (f"  {line}" for line in before)


def _file_words(files: tuple[PartDifference, ...]) -> Iterator[str]:
    """By their number: there may be thousands."""
    for how in How:
        such = [plainly(each.name) for each in files if each.how is how]
        if such:
            more = f" and {len(such) - 3:,} more" if len(such) > 3 else ""
            yield f"{len(such):,} file{'' if len(such) == 1 else 's'} {how.value}: {', '.join(such[:3])}{more}"
