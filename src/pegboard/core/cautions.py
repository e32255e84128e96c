"""What a person should know of a tool before they approve it, whatever its words are: what it says that it may do, and
what callers will send otherwise than before.

No judgement of the words: that is the scanner's. Annotations are claims of the server; that one is given up is news.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from .diff import (
    AnnotationChange,
    ParameterAddition,
    RequiredChange,
    SchemaChange,
    SpecChange,
    describe_change,
    diff_specs,
)
from .tool import Json, ToolSpec

MAX_CAUTIONS: Final = 20
_VALUES: Final = frozenset({"default", "enum", "const"})
_HINT_SENTENCES: Final = {
    "destructiveHint": "It says that it may delete or overwrite things.",
    "openWorldHint": "It says that it reaches beyond what its server keeps, to other machines or people.",
}


def review_cautions(before: ToolSpec | None, now: ToolSpec) -> tuple[str, ...]:
    """Each a sentence. `before` is what was approved, if anything was."""
    told = _cautions_of_new(now) if before is None else _cautions_of_change(before, now)
    return tuple(islice(told, MAX_CAUTIONS))


def _cautions_of_new(spec: ToolSpec) -> Iterator[str]:
    said: Mapping[str, Json] = spec.annotations or {}
    for hint, words in _HINT_SENTENCES.items():
        if said.get(hint) is True and said.get("readOnlyHint") is not True:
            yield words
    if "readOnlyHint" not in said and "destructiveHint" not in said:
        yield "It does not say whether it only reads; take it that it may change or delete things."


def _cautions_of_change(before: ToolSpec, now: ToolSpec) -> Iterator[str]:
    for change in diff_specs(before, now):
        yield from _cautions_of_one_change(change)


def _cautions_of_one_change(change: SpecChange) -> Iterator[str]:
    match change:
        case AnnotationChange((_, "readOnlyHint"), True, _):
            yield "It said that it only reads, and does not say so any more."
        case AnnotationChange((_, "destructiveHint"), _, True):
            yield "It now says that it may delete or overwrite things."
        case AnnotationChange((_, "destructiveHint"), False, _):
            yield "It said that it deletes and overwrites nothing, and does not say so any more."
        case AnnotationChange((_, "openWorldHint"), _, True):
            yield "It now says that it reaches beyond what its server keeps, to other machines or people."
        case AnnotationChange((_, "openWorldHint"), False, _):
            yield "It said that it stays within what its server keeps, and does not say so any more."
        case AnnotationChange(("annotations",), dict() as was, _) if was.get("readOnlyHint") is True:
            yield "It said that it only reads, and does not say so any more."
        case ParameterAddition(path, _, _, True) | RequiredChange(path, _, True) if path[0] == "inputSchema":
            yield f"Callers must send something new. {describe_change(change)}"
        case SchemaChange(path, _, keyword) if path[0] == "inputSchema" and _VALUES & {*keyword.split("."), path[-1]}:
            yield f"Callers may send another value than before. {describe_change(change)}"
        case _:
            pass
