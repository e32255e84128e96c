"""Taking back a question: whoever was asked need not answer any more."""

from typing import Final

from pegboard.ports import Peer

TAKEN_BACK: Final = "notifications/cancelled"


def take_back(id: str, peer: Peer) -> None:
    """Said in a call that still runs, whichever the question was put in."""
    peer.note(TAKEN_BACK, {"requestId": id, "reason": "The question was taken back."})
