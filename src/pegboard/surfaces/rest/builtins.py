"""Why the gateway's own tools are where they are, for those that are not on the board."""

from pegboard.core.ids import BuiltinKey, ToolId, WireName
from pegboard.core.presentations import PresentationMode
from pegboard.core.presentations.builtins import BUILTIN_TOOLS, BuiltinPlace
from pegboard.core.prompting import PYTHON, SEARCH
from pegboard.core.resolve import HiddenTool, LockedTool, Verdict
from pegboard.core.unknown_names import unknown_names
from pegboard.core.unlocking import NO_ACTION, suggest_action
from pegboard.core.view import View
from pegboard.gateway.builtin_verdicts import verdict_on_search
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.programs import verdict_on_programs

from .shapes import DecisionStepInfo, VerdictInfo, action_info, verdict_info
from .tool_shapes import ExplainToolResponse


def is_off_board_builtin(gateway: Gateway, name: str, view: View) -> bool:
    """Whether the gateway itself has the tool, and no tool on the board has its name."""
    if name not in BUILTIN_TOOLS:
        return False
    catalogue = gateway.board.catalogue
    return WireName(name) not in gateway.board.resolution(view).by_name and all(
        id.name != name for id in catalogue.tools
    )


def explain_builtin(gateway: Gateway, name: str, view: View, presented: PresentationMode | None) -> ExplainToolResponse:
    # Loaded for the first who asks: it needs all there is of prompts.
    from pegboard.gateway.prompting import builtin_places_of

    places = builtin_places_of(gateway, view, name, presented)
    policy = gateway.board.policy
    unknown = unknown_names(gateway.board.catalogue, policy)
    ruled = _builtin_verdict(gateway, name, view)
    locked = ruled if isinstance(ruled, LockedTool) else None
    is_there = any(place.is_listed for place in places)
    closed = ruled if isinstance(ruled, LockedTool | HiddenTool) else None
    verdict = verdict_info(closed) if closed is not None else _verdict_info(places, is_there)
    return {
        "id": name,
        "wireName": name if is_there and closed is None else None,
        "more": [],
        **verdict,
        "steps": [*map(_step_info, places)],
        "naming": [],
        "action": action_info(NO_ACTION if locked is None else suggest_action(locked, policy)),
        "others": [],
        "overrides": [],
        "policyVersion": policy.version,
        "unknownNames": [str(entry) for entry in unknown if entry.may_mean(ToolId(BuiltinKey(), name))],
    }


def _builtin_verdict(gateway: Gateway, name: str, view: View) -> Verdict | None:
    """On those of which people decide by their names; the others belong to their presentations."""
    if name == PYTHON:
        return verdict_on_programs(gateway, view)
    return verdict_on_search(gateway, view) if name == SEARCH else None


def builtin_steps(
    gateway: Gateway, id: ToolId, view: View, presented: PresentationMode | None
) -> list[DecisionStepInfo]:
    """What is told of the gateway's own tool on the board, behind the steps that every tool has."""
    if not isinstance(id.source, BuiltinKey):
        return []
    from pegboard.gateway.prompting import builtin_places_of

    return [*map(_step_info, builtin_places_of(gateway, view, id.name, presented))]


def _step_info(place: BuiltinPlace) -> DecisionStepInfo:
    asked = f"Is it listed at {place.where}?" if place.where.startswith("/") else f"Is it in {place.where}?"
    return {"asked": asked, "lets": place.is_listed, "said": f"{'yes' if place.is_listed else 'no'}: {place.why}"}


def _verdict_info(places: tuple[BuiltinPlace, ...], is_there: bool) -> VerdictInfo:
    if is_there:
        return {"verdict": "open"}
    reasons = "; ".join(dict.fromkeys(f"{place.where}: {place.why}" for place in places))
    return {"verdict": "absent", "sentence": f"It is nowhere here. {reasons}."}
