"""What a person reads before they decide, as JSON bodies. It repeats what is withheld from agents: operators only."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from typing_extensions import TypedDict

from pegboard.core.catalogue import has_listed
from pegboard.core.cautions import cautions
from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.policy import Switch
from pegboard.core.review import Review, Standing, Waiting, batch, by_server, together
from pegboard.core.rewording import How, Piece, harmless
from pegboard.core.scan import Finding, Kind, Severity
from pegboard.core.sections import Alteration, Altered, Section, path_text
from pegboard.core.status import SwitchedOff, sentence
from pegboard.core.tool import ToolSpec, canonical
from pegboard.gateway.trial import Trial

from .pages import Following
from .shapes import FlawShape, HealthShape, ServerBase, ToolInFull, ToolShape, flaws_shape, health_shape

_DESCRIBED = 500
"""Characters of a description in a list. All of it is shown where one tool is."""
_PARAMETER = 200
_PARAMETERS = 50


class RiskShape(TypedDict):
    word: str
    hard: int
    soft: int


class FindingShape(TypedDict):
    severity: Severity
    kind: Kind
    path: str
    sentence: str
    excerpt: str


class WaitingShape(TypedDict):
    id: str
    name: str
    server: str | None
    kind: Standing
    risk: RiskShape
    notes: list[FindingShape]
    fingerprint: str


class WaitingServerShape(TypedDict):
    id: str
    waiting: int
    together: int
    """How many of them may be approved at once, by this fingerprint."""
    fingerprint: str | None


class PieceShape(TypedDict):
    how: How
    text: str


class AlterationShape(TypedDict):
    path: str
    how: Alteration
    sentence: str
    before: str | None
    after: str | None
    words: list[PieceShape]


class SectionShape(TypedDict):
    section: str
    words: list[PieceShape]
    changes: list[AlterationShape]
    more: int


class BlockShape(TypedDict):
    id: str
    by: str
    at: str
    note: str
    sentence: str


class QueuedShape(WaitingShape):
    since: str | None
    """When it was first seen to wait, exactly so."""


class ReviewShape(TypedDict):
    title: str | None
    description: str
    kind: Standing
    block: BlockShape | None
    difference: list[SectionShape]
    notes: list[FindingShape]
    cautions: list[str]


class ReviewedTool(ToolInFull):
    kind: Standing
    since: str | None
    """When it was first seen to wait, exactly so; `null` when it does not."""
    block: BlockShape | None
    difference: list[SectionShape]
    notes: list[FindingShape]
    cautions: list[str]
    policyVersion: int


class ParameterShape(TypedDict):
    name: str
    required: bool
    schema: str
    description: str


class WordsShape(TypedDict):
    """A tool's own words, made harmless and cut."""

    title: str | None
    description: str
    parameters: list[ParameterShape]
    annotations: str | None
    cautions: list[str]


class LookedTool(WaitingShape, WordsShape):
    """One tool of a list that was seen once."""


class BroughtShape(TypedDict):
    """What one start of a server showed."""

    health: HealthShape
    answered: bool
    tools: list[LookedTool]
    flaws: list[FlawShape]
    lines: list[str]


class ReviewedServer(ServerBase):
    """A server in quarantine after one look at it: here its tools are those that it listed."""

    tools: list[LookedTool]
    answered: bool
    lines: list[str]


class ApprovalsShape(Following):
    waiting: list[QueuedShape]
    """The oldest first."""
    servers: list[WaitingServerShape]
    blocked: list[BlockShape]
    policyVersion: int


class ApprovedShape(TypedDict):
    approved: list[ToolShape]


def waiting_shape(each: Waiting) -> WaitingShape:
    source = each.tool.id.source
    return {
        "id": str(each.tool.id),
        "name": each.tool.id.name,
        "server": None if isinstance(source, BuiltinKey) else str(source),
        "kind": each.standing,
        "risk": _risk_shape(each),
        "notes": [finding_shape(finding) for finding in each.findings],
        "fingerprint": each.fingerprint,
    }


def queued_shape(each: Waiting, since: datetime | None) -> QueuedShape:
    return {**waiting_shape(each), "since": None if since is None else since.isoformat()}


def servers_shape(waiting: Iterable[Waiting]) -> list[WaitingServerShape]:
    """What may be approved at once of each server, and by which fingerprint."""
    shapes: list[WaitingServerShape] = []
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


def review_shape(review: Review) -> ReviewShape:
    """Beside the tool in full. Its title and description as the server wrote them, whatever people put in their place:
    those are what is approved."""
    return {
        "title": review.tool.spec.title,
        "description": review.tool.spec.description,
        "kind": review.standing,
        "block": None if review.block is None else block_shape(review.tool.id, review.block),
        "difference": [section_shape(section) for section in review.difference],
        "notes": [finding_shape(finding) for finding in review.findings],
        "cautions": list(review.cautions),
    }


def trial_shape(trial: Trial, waiting: Iterable[Waiting]) -> BroughtShape:
    return {
        "health": health_shape(trial.listing.health),
        "answered": has_listed(trial.listing),
        "tools": [{**waiting_shape(each), **words_shape(each)} for each in waiting],
        "flaws": flaws_shape(trial.listing.flaws),
        "lines": list(trial.lines),
    }


def finding_shape(finding: Finding) -> FindingShape:
    return {
        "severity": finding.severity,
        "kind": finding.kind,
        "path": path_text(finding.path),
        "sentence": finding.sentence,
        "excerpt": finding.excerpt,
    }


def section_shape(section: Section) -> SectionShape:
    return {
        "section": section.name,
        "words": [_piece_shape(piece) for piece in section.words],
        "changes": [_altered_shape(change) for change in section.changes],
        "more": section.more,
    }


def block_shape(tool: ToolId, switch: Switch) -> BlockShape:
    return {
        "id": str(tool),
        "by": switch.by,
        "at": switch.at.isoformat(),
        "note": switch.note,
        "sentence": sentence(SwitchedOff(tool, switch)),
    }


def words_shape(each: Waiting) -> WordsShape:
    spec = each.tool.spec
    said = spec.annotations
    return {
        "title": spec.title and harmless(spec.title, 200),
        "description": harmless(spec.description, _DESCRIBED),
        "parameters": [*islice(_parameters(spec), _PARAMETERS)],
        "annotations": None if said is None else harmless(canonical(said).decode("utf-8", "replace"), _DESCRIBED),
        "cautions": list(cautions(None, spec)),
    }


def _parameters(spec: ToolSpec) -> Iterator[ParameterShape]:
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


def _risk_shape(each: Waiting) -> RiskShape:
    risk = each.risk
    return {"word": risk.word, "hard": risk.hard, "soft": risk.soft}


def _piece_shape(piece: Piece) -> PieceShape:
    return {"how": piece.how, "text": piece.text}


def _altered_shape(change: Altered) -> AlterationShape:
    return {
        "path": change.path,
        "how": change.how,
        "sentence": change.sentence,
        "before": change.before,
        "after": change.after,
        "words": [_piece_shape(piece) for piece in change.words],
    }
