"""How the tools of a DocSpace are reached, as it was written: values keep their references until they are used."""

from dataclasses import dataclass
from typing import Final

DEADLINE_S: Final = 600.0
TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class CallerCredentialRules:
    """What of a caller's own request may stand in for the operator's credentials."""

    authorization: bool = True
    """The Authorization header. Never where it is the caller's token for this gateway."""
    headers: bool = True
    """X-Mcp-Base-Url, X-Mcp-Api-Key, X-Mcp-Auth-Token, X-Mcp-Username and X-Mcp-Password."""
    query: bool = True
    """base_url among the query parameters of the address."""
    base_urls: tuple[str, ...] = ()
    """The only base URLs that a request may name, each in its one spelling; none for any."""
    is_implied: bool = False
    """Whether nobody said so: there are no other credentials, so that nothing else could work."""


@dataclass(frozen=True)
class DocSpace:
    """One DocSpace, for all of its toolsets. Texts may hold `${…}` references; an empty one was not said."""

    base_url: str = ""
    api_key: str = ""
    auth_token: str = ""
    username: str = ""
    password: str = ""
    authorization: str = ""
    lends: CallerCredentialRules | None = None
    """`None`: every caller has what the operator's credentials have."""
    user_agent: str | None = None
    """`None` for our own; an empty one is not sent."""
    deadline: float = DEADLINE_S
    """Seconds that DocSpace has to finish a long operation."""
    timeout: float = TIMEOUT_S
    """Seconds that one request to DocSpace may take."""
    problem: str = ""
    """What was said of it in a way that nobody can use, line by line."""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(
            filter(
                None,
                (self.base_url, self.api_key, self.auth_token, self.username, self.password, self.authorization),
            )
        )
