"""What routes about servers answer beside a server itself."""

from typing_extensions import TypedDict

from .pages import PageResponse
from .shapes import NoticeInfo, ServerInfo


class ServersResponse(PageResponse):
    servers: list[ServerInfo]
    policyVersion: int
    notices: list[NoticeInfo]


class ServerAddedResponse(ServerInfo):
    warnings: list[str]


class ServerRemovedResponse(TypedDict):
    removed: str


class SignInResponse(TypedDict):
    id: str
    signedIn: bool
    since: str | None
    last: str | None
    trouble: str | None


class SignInLinkResponse(SignInResponse):
    url: str
    """Works once, and for a few minutes."""


class SignOutResponse(TypedDict):
    id: str
    signedIn: bool
    revoked: bool
    """Whether the server was told to forget too."""
