"""What the record of a call tells of credentials that its caller brought: for which DocSpace, and nothing of them."""

from dataclasses import replace

from pegboard.core.call import Call
from pegboard.core.docspace import CREDENTIAL_HEADERS, Access, lent
from pegboard.core.docspace.on_board import lends_on
from pegboard.core.policy import Policy


def with_place(call: Call, policy: Policy) -> Call:
    """A call of a tool of DocSpace, by a client that is named with the place it brought credentials for."""
    lends = lends_on(policy)
    if lends is None or not any(name in call.headers for name in CREDENTIAL_HEADERS):
        return call
    access = lent(call.headers, lends)
    if not isinstance(access, Access):
        return call
    return replace(call, client=f"{call.client or 'a client'}, with credentials of its own for {access.origin}")
