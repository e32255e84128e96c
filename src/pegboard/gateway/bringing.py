"""What the record of a call tells of credentials that its caller brought: for which DocSpace, and nothing of them."""

from dataclasses import replace

from pegboard.core.call import ToolCall
from pegboard.core.docspace import CREDENTIAL_HEADERS, DocSpaceAccess, read_caller_credentials
from pegboard.core.docspace.on_board import caller_credential_rules
from pegboard.core.policy import Policy


def with_credential_place(call: ToolCall, policy: Policy) -> ToolCall:
    """A call of a tool of DocSpace, by a client that is named with the place it brought credentials for."""
    lends = caller_credential_rules(policy)
    if lends is None or not any(name in call.headers for name in CREDENTIAL_HEADERS):
        return call
    access = read_caller_credentials(call.headers, lends)
    if not isinstance(access, DocSpaceAccess):
        return call
    return replace(call, client=f"{call.client or 'a client'}, with credentials of its own for {access.origin}")
