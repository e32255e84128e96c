"""In whose name a call runs, where the caller's own request may say so: what a person's yes to it is bound to."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CredentialIdentity:
    tag: str
    """A keyed hash of the place and of the credentials: equal for the same ones, and telling nothing of them."""
    description: str = field(compare=False)
    """For the person who decides. Without secrets."""

    def __str__(self) -> str:
        return f"{self.tag} {self.description}"


def parse_identity(text: str | None) -> CredentialIdentity | None:
    """What `str` made of one."""
    if text is None:
        return None
    tag, _, told = text.partition(" ")
    return CredentialIdentity(tag, told)


def other_identity_text(ticket: str) -> str:
    """To a request that would run the call of a ticket in another name than the one that was asked about."""
    return (
        f"Ticket {ticket} is for a call with other credentials than this request brings, so it has not run. "
        "Come back with the request's credentials as they were, or make the call anew to ask again."
    )
