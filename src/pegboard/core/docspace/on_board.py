"""The DocSpace of a board, if it has one."""

from typing import Final

from pegboard.core.ids import ToolsetId, ToolsetKey
from pegboard.core.policy import Policy

from .connection import CallerCredentialRules, DocSpace

_ANY_TOOLSET: Final = ToolsetKey(ToolsetId("files"))
"""All of its toolsets are reached the same way."""


def docspace_of(policy: Policy) -> DocSpace | None:
    server = policy.servers.get(_ANY_TOOLSET)
    return server.connection if server is not None and isinstance(server.connection, DocSpace) else None


def caller_credentials_warning(policy: Policy) -> str | None:
    """What a person should know wherever callers may bring credentials of their own."""
    lends = caller_credential_rules(policy)
    if lends is None:
        return None
    why = ", because it has none here" if lends.is_implied else ""
    if lends.base_urls:
        return (
            f"DocSpace: callers over HTTP may bring credentials of their own{why}, for {' or '.join(lends.base_urls)}."
        )
    return (
        f"DocSpace: callers over HTTP may bring a base URL and credentials of their own{why}, and read what "
        "the gateway finds there. Name the only places under docspace.request_base_urls."
    )


def shared_toolset_warning(toolset: ToolsetId) -> str:
    """Of a server in a toolset that has the name of one of DocSpace's."""
    return (
        f"the toolset {str(toolset)!r} holds this server and tools of DocSpace as well: whoever may use it has both. "
        "Give the server a toolset of another name"
    )


def caller_credential_rules(policy: Policy) -> CallerCredentialRules | None:
    found = docspace_of(policy)
    return None if found is None else found.lends
