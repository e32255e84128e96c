"""What routes about servers answer beside a server itself."""

from typing_extensions import TypedDict

from .pages import Following
from .shapes import NoticeShape, ServerShape


class ServersShape(Following):
    servers: list[ServerShape]
    policyVersion: int
    notices: list[NoticeShape]


class AddedShape(ServerShape):
    warnings: list[str]


class RemovedServerShape(TypedDict):
    removed: str


class SignInShape(TypedDict):
    id: str
    signedIn: bool
    since: str | None
    last: str | None
    trouble: str | None


class SignInLinkShape(SignInShape):
    url: str
    """Works once, and for a few minutes."""


class SignedOutShape(TypedDict):
    id: str
    signedIn: bool
    revoked: bool
    """Whether the server was told to forget too."""
