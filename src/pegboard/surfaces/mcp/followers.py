"""Clients of the handshake era that follow resources: each by its connection, for as long as that lasts."""

from pegboard.gateway.following import ClientSubscriptions, ResourceFollower


class Followers:
    """Over HTTP a client subscribes in one request and listens in another: both find the same follower here."""

    def __init__(self, following: ClientSubscriptions) -> None:
        self._subscriptions = following
        self._by_connection: dict[str, ResourceFollower] = {}

    def follower_of(self, connection: str) -> ResourceFollower:
        return self._by_connection.setdefault(connection, ResourceFollower(self._subscriptions))

    def disconnect(self, connection: str) -> None:
        """Nobody listens there any more. What it follows stays followed: it may listen again."""
        follower = self._by_connection.get(connection)
        if follower is not None and follower.is_idle:
            del self._by_connection[connection]

    def forget(self, connection: str) -> None:
        follower = self._by_connection.pop(connection, None)
        if follower is not None:
            follower.close()
