"""What a server's new list locks: tools that it added, or that are not any more what was approved."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .catalogue import Listing
from .ids import ToolId
from .policy import Policy
from .rules import is_approved
from .said import quote_name, shell_word
from .status import ChangedSinceApproval
from .tool import Fingerprint, Tool

MAX_NAMED: Final = 20
_FINGERPRINT_CHARS: Final = 12


@dataclass(frozen=True)
class NewlyLockedTool:
    """One tool that waits for a person because of its server. `before` is what was approved, if anything was."""

    tool: Tool
    before: Fingerprint | None


def newly_locked_tools(former: Listing | None, latest: Listing, policy: Policy) -> tuple[NewlyLockedTool, ...]:
    """Of what is new or other in the latest list. What it had before, exactly so, was told before."""
    known = {} if former is None else {tool.id: tool for tool in former.tools}
    return tuple(_find_newly_locked(known, latest, policy))


def _find_newly_locked(known: dict[ToolId, Tool], latest: Listing, policy: Policy) -> Iterator[NewlyLockedTool]:
    for tool in latest.tools:
        old = known.get(tool.id)
        if old is tool or (old is not None and old.spec.fingerprint == tool.spec.fingerprint):
            continue
        match is_approved(tool, None, policy):
            case None:
                pass
            case ChangedSinceApproval(_, approved):
                yield NewlyLockedTool(tool, approved.fingerprint)
            case _:
                yield NewlyLockedTool(tool, None)


def describe_for_activity(found: tuple[NewlyLockedTool, ...]) -> str:
    """For the activity: each by its name and fingerprints."""
    named = [_describe_one(each) for each in found[:MAX_NAMED]]
    more = f" and {len(found) - MAX_NAMED:,} more" if len(found) > MAX_NAMED else ""
    return f"locked until a person approves: {', '.join(named)}{more}"


def log_line(latest: Listing, found: tuple[NewlyLockedTool, ...]) -> str:
    """For the log: what to do, too."""
    if len(found) > 1:
        what = f"{latest.source} changed or added {len(found):,} tools; they are locked until you approve them"
        return f"{what}: pegboard approvals show --server {latest.source}"
    (one,) = found
    how = "added" if one.before is None else "changed"
    word = shell_word(str(one.tool.id))
    see = f"pegboard approvals list --server {latest.source}" if word is None else f"pegboard approvals show {word}"
    return f"{latest.source} {how} {quote_name(one.tool.id.name)}; it is locked until you approve it: {see}"


def _describe_one(each: NewlyLockedTool) -> str:
    now, name = each.tool.spec.fingerprint[:_FINGERPRINT_CHARS], quote_name(each.tool.id.name)
    return (
        f"{name} is new ({now})"
        if each.before is None
        else f"{name} changed ({each.before[:_FINGERPRINT_CHARS]} → {now})"
    )
