"""What an override is to be about, as people name it: a toolset, and in it a tool or a pattern."""

from http import HTTPStatus
from typing import NoReturn

from pegboard.core.ids import BUILTIN, BadId, BuiltinKey, ToolId, ToolsetId, WireName, parse_tool_id
from pegboard.core.override import parse_target
from pegboard.core.pattern import Pattern, is_pattern, parse_pattern
from pegboard.core.policy import Policy
from pegboard.core.reference import closest_names
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .problems import ProblemError
from .tools import find_tool

OverridePlace = tuple[ToolsetId, ToolId | Pattern]


def parse_override_place(gateway: Gateway, text: str, toolset: str | None) -> OverridePlace:
    """With a toolset as the file would read it, but for a bare name, which is a tool; without one, the toolset must
    follow from what is named."""
    policy = gateway.board.policy
    if toolset is not None:
        return _parse_within(gateway, text, _find_toolset(policy, toolset))
    if text.startswith("toolset:"):
        return _parse_within(gateway, text, _find_toolset(policy, text.removeprefix("toolset:")))
    if is_pattern(text) or (text.startswith("mcp:") and ":" not in text.removeprefix("mcp:")):
        match parse_pattern(text):
            case Pattern() as about:
                return _toolset_of(about, policy), about
            case BadId(_, why):
                _refuse(f"{why}.")
    id = parse_tool_id(text)
    if isinstance(id, ToolId) and not isinstance(id.source, BuiltinKey) and id.source in policy.servers:
        return id.toolset, id  # tools come and go: it need not be listed now
    found = find_tool(gateway, text, gateway.board.resolution(View()))
    return found.toolset, found


def _parse_within(gateway: Gateway, text: str, toolset: ToolsetId) -> OverridePlace:
    id = parse_tool_id(text)
    if isinstance(id, ToolId) and id in gateway.board.catalogue.tools and id.toolset == toolset:
        return toolset, id
    if ":" not in text and not is_pattern(text) and toolset != BUILTIN:
        return toolset, _find_tool(gateway, text, toolset)
    match parse_target(text, toolset):
        case BadId(_, why):
            _refuse(f"{why}.")
        case found:
            return toolset, found


def _find_tool(gateway: Gateway, text: str, toolset: ToolsetId) -> ToolId:
    """A bare name is a tool here, with a toolset beside it as without one, so that what is set is what is cleared."""
    found = [id for id in gateway.board.catalogue.tools if id.toolset == toolset and id.name == text]
    if not found and (seen := gateway.board.resolution(View()).by_name.get(WireName(text))) is not None:
        found = [seen] if seen.toolset == toolset else []
    if len(found) == 1:
        return found[0]
    every = f"For every tool of that name, now and later, write '*:{text}'."
    if found:
        _refuse(f"{len(found)} tools of toolset {toolset!r} are {text!r}: {', '.join(map(str, found))}. {every}")
    near = closest_names(text, (id.name for id in gateway.board.catalogue.tools if id.toolset == toolset))
    hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    raise ProblemError(HTTPStatus.NOT_FOUND, f"Toolset {toolset!r} lists no tool {text!r}.{hint} {every}")


def _find_toolset(policy: Policy, text: str) -> ToolsetId:
    if text in policy.toolsets or text == BUILTIN:
        return ToolsetId(text)
    near = closest_names(text, policy.toolsets)
    hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else " See: pegboard servers list"
    raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no toolset {text!r}.{hint}")


def _toolset_of(about: Pattern, policy: Policy) -> ToolsetId:
    if about.scope in policy.toolsets:
        return ToolsetId(about.scope)
    owners = {key.toolset for key, server in policy.servers.items() if about.scope in (server.id, str(key))}
    if len(owners) == 1:
        return owners.pop()
    among = ", ".join(sorted(owners or policy.toolsets)) or "there is none yet"
    _refuse(f"An override belongs to one toolset, and {str(about)!r} does not tell which. Name it ({among}): --toolset")


def _refuse(why: str) -> NoReturn:
    raise ProblemError(HTTPStatus.BAD_REQUEST, why)
