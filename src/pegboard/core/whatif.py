"""What would change for a caller if another policy held: which tools open, lock, appear or vanish, and why."""

from dataclasses import dataclass

from .catalogue import Catalogue
from .ids import ProviderKey, ToolId
from .policy import Policy
from .resolve import HiddenTool, LockedTool, Verdict, resolve
from .rules import owner_is_known
from .view import View


@dataclass(frozen=True)
class VerdictChange:
    """One tool whose verdict would be another."""

    tool: ToolId
    before: Verdict
    after: Verdict

    @property
    def is_relevant(self) -> bool:
        """Another line of another file for the same verdict is no change to anybody."""
        return _verdict_key(self.before) != _verdict_key(self.after)


def _verdict_key(verdict: Verdict) -> tuple[object, ...]:
    match verdict:
        case LockedTool():
            return LockedTool, verdict.status
        case HiddenTool(_, removed):
            return HiddenTool, type(removed)
        case _:
            return (type(verdict),)


@dataclass(frozen=True)
class WhatIf:
    changes: tuple[VerdictChange, ...]
    removed_servers: tuple[ProviderKey, ...]
    """Servers that the other policy does not name: their tools would leave the board."""
    new_servers: tuple[ProviderKey, ...]
    """Servers that only the other policy names: their tools are known once they run."""


def what_if(catalogue: Catalogue, before: Policy, after: Policy, view: View) -> WhatIf:
    """Both answers come from `resolve`, over the same catalogue. A tool that lost its server is told by its server."""
    now, then = resolve(catalogue, before, view), resolve(catalogue, after, view)
    shifts = tuple(
        VerdictChange(id, now.verdicts[id], then.verdicts[id])
        for id, tool in catalogue.tools.items()
        if now.verdicts[id] != then.verdicts[id] and owner_is_known(tool, catalogue.health(id.source), after) is None
    )
    return WhatIf(
        shifts,
        removed_servers=tuple(key for key in before.servers if key not in after.servers),
        new_servers=tuple(key for key in after.servers if key not in before.servers),
    )
