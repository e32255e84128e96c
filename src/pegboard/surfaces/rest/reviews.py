"""What a person reads before they decide, as JSON bodies. It repeats what is withheld from agents: operators only."""

from collections.abc import Iterable, Iterator
from itertools import islice

from pegboard.core.catalogue import has_listed
from pegboard.core.cautions import cautions
from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.policy import Switch
from pegboard.core.review import Review, Waiting, batch, by_server, together
from pegboard.core.rewording import Piece, harmless
from pegboard.core.scan import Finding
from pegboard.core.sections import Altered, Section, path_text
from pegboard.core.status import SwitchedOff, sentence
from pegboard.core.tool import ToolSpec, canonical
from pegboard.gateway.trial import Trial

from .shapes import Shape, flaws_shape, health_shape, moment

_DESCRIBED = 500
"""Characters of a description in a list. All of it is shown where one tool is."""
_PARAMETER = 200
_PARAMETERS = 50


def waiting_shape(each: Waiting) -> Shape:
    source = each.tool.id.source
    return {
        "id": str(each.tool.id),
        "name": each.tool.id.name,
        "server": None if isinstance(source, BuiltinKey) else str(source),
        "kind": each.standing.value,
        "risk": _risk_shape(each),
        "notes": [finding_shape(finding) for finding in each.findings],
        "fingerprint": each.fingerprint,
    }


def servers_shape(waiting: Iterable[Waiting]) -> list[Shape]:
    """What may be approved at once of each server, and by which fingerprint."""
    shapes: list[Shape] = []
    for key, tools in by_server(waiting).items():
        at_once = together(tools)
        shapes.append(
            {
                "id": str(key),
                "waiting": len(tools),
                "together": len(at_once),
                "fingerprint": batch(at_once) if at_once else None,
            }
        )
    return shapes


def review_shape(review: Review) -> Shape:
    """Beside the tool in full. Its title and description as the server wrote them, whatever people put in their place:
    those are what is approved."""
    return {
        "title": review.tool.spec.title,
        "description": review.tool.spec.description,
        "kind": review.standing.value,
        "block": None if review.block is None else block_shape(review.tool.id, review.block),
        "difference": [section_shape(section) for section in review.difference],
        "notes": [finding_shape(finding) for finding in review.findings],
        "cautions": list(review.cautions),
    }


def trial_shape(trial: Trial, waiting: Iterable[Waiting]) -> Shape:
    return {
        "health": health_shape(trial.listing.health),
        "answered": has_listed(trial.listing),
        "tools": [{**waiting_shape(each), **words_shape(each)} for each in waiting],
        "flaws": flaws_shape(trial.listing.flaws),
        "lines": list(trial.lines),
    }


def finding_shape(finding: Finding) -> Shape:
    return {
        "severity": finding.severity.value,
        "kind": finding.kind.value,
        "path": path_text(finding.path),
        "sentence": finding.sentence,
        "excerpt": finding.excerpt,
    }


def section_shape(section: Section) -> Shape:
    return {
        "section": section.name,
        "words": [_piece_shape(piece) for piece in section.words],
        "changes": [_altered_shape(change) for change in section.changes],
        "more": section.more,
    }


def block_shape(tool: ToolId, switch: Switch) -> Shape:
    return {
        "id": str(tool),
        "by": switch.by,
        "at": moment(switch.at),
        "note": switch.note,
        "sentence": sentence(SwitchedOff(tool, switch)),
    }


def words_shape(each: Waiting) -> Shape:
    spec = each.tool.spec
    said = spec.annotations
    return {
        "title": spec.title and harmless(spec.title, 200),
        "description": harmless(spec.description, _DESCRIBED),
        "parameters": [*islice(_parameters(spec), _PARAMETERS)],
        "annotations": None if said is None else harmless(canonical(said).decode("utf-8", "replace"), _DESCRIBED),
        "cautions": list(cautions(None, spec)),
    }


def _parameters(spec: ToolSpec) -> Iterator[Shape]:
    """Each in short. What a server puts in the place of a schema is shown as what it is."""
    properties, required = spec.input_schema.get("properties"), spec.input_schema.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    for name, schema in (properties if isinstance(properties, dict) else {}).items():
        rest, words = schema, None
        if isinstance(schema, dict):
            words = schema.get("description")
            rest = {key: value for key, value in schema.items() if key != "description" or not isinstance(value, str)}
        yield {
            "name": harmless(name, 100),
            "required": name in needed,
            "schema": harmless(canonical(rest).decode("utf-8", "replace"), _PARAMETER),
            "description": harmless(words, _PARAMETER) if isinstance(words, str) else "",
        }


def _risk_shape(each: Waiting) -> Shape:
    risk = each.risk
    return {"word": risk.word, "hard": risk.hard, "soft": risk.soft}


def _piece_shape(piece: Piece) -> Shape:
    return {"how": piece.how.value, "text": piece.text}


def _altered_shape(change: Altered) -> Shape:
    return {
        "path": change.path,
        "how": change.how.value,
        "sentence": change.sentence,
        "before": change.before,
        "after": change.after,
        "words": [_piece_shape(piece) for piece in change.words],
    }
