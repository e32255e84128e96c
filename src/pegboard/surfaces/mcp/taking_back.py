"""Taking back a question: whoever was asked need not answer any more."""

from typing import Final

from pegboard.ports import ClientPeer

CANCELLED_METHOD: Final = "notifications/cancelled"


def cancel_question(id: str, peer: ClientPeer) -> None:
    """Said in a call that still runs, whichever the question was put in."""
    peer.notify(CANCELLED_METHOD, {"requestId": id, "reason": "The question was taken back."})
