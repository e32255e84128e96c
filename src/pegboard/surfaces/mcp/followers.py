"""Clients of the handshake era that follow resources: each by its connection, for as long as that lasts."""

from pegboard.gateway.following import Follower, Following


class Followers:
    """Over HTTP a client subscribes in one request and listens in another: both find the same follower here."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._known: dict[str, Follower] = {}

    def of(self, connection: str) -> Follower:
        return self._known.setdefault(connection, Follower(self._following))

    def silent(self, connection: str) -> None:
        """Nobody listens there any more. What it follows stays followed: it may listen again."""
        follower = self._known.get(connection)
        if follower is not None and follower.idle:
            del self._known[connection]

    def forget(self, connection: str) -> None:
        follower = self._known.pop(connection, None)
        if follower is not None:
            follower.leave()
