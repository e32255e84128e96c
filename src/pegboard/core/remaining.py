"""What would still keep a tool from a caller once the first thing was mended, by the steps and rules that decide."""

from typing import assert_never

from .catalogue import Catalogue
from .passage import Passage
from .removal import removal_sentence
from .resolve import Absent, Locked, Open, Verdict, verdict_on
from .status import sentence


def remaining(verdict: Verdict, way: Passage, catalogue: Catalogue) -> tuple[str, ...]:
    """A sentence each, in the order in which they would show. `way` is the passage of the view it is a verdict of."""
    match verdict:
        case Open():
            return ()
        case Locked(_, _, more):
            return tuple(map(sentence, more))
        case Absent(tool, _):
            _, *others = way.removals(tool.id)
            beneath = verdict_on(way.limited.get(tool.id, tool), catalogue.health(tool.id.source), way.policy)
            reasons = (beneath.reason, *beneath.more) if isinstance(beneath, Locked) else ()
            return (*map(removal_sentence, others), *map(sentence, reasons))
        case _:
            assert_never(verdict)
