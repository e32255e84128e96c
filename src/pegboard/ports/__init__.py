"""What the gateway asks of the world. Adapters implement these; the core never sees them."""

from .audit import Audit, AuditQuery, AuditRow, Back, Onward, StoreAway
from .encoding import CannotEncode, Digest, Encoder, Traits, Vector, VectorsAway, VectorStore
from .policy import PolicyStore, Saved, Stale
from .references import Expand, ExpandFor, Unresolved
from .runs import BegunRuns, RunsAway, RunStore
from .secrets import Secrets, SecretsAway, Unreadable
from .signing_in import NoSignIn, SentTo, SignedIn, SignIns, SignInState
from .sources import (
    Borrows,
    CannotAsk,
    Clock,
    Leaves,
    Library,
    Meets,
    Peer,
    Progress,
    Provider,
    ProviderFor,
    Ring,
    Updated,
)
from .tickets import ConsentStore, NoTicketsError, TicketsAway, TicketStore
from .tokens import TokenUses

__all__ = [
    "Audit",
    "AuditQuery",
    "AuditRow",
    "Back",
    "BegunRuns",
    "Borrows",
    "CannotAsk",
    "CannotEncode",
    "Clock",
    "ConsentStore",
    "Digest",
    "Encoder",
    "Expand",
    "ExpandFor",
    "Leaves",
    "Library",
    "Meets",
    "NoSignIn",
    "NoTicketsError",
    "Onward",
    "Peer",
    "PolicyStore",
    "Progress",
    "Provider",
    "ProviderFor",
    "Ring",
    "RunStore",
    "RunsAway",
    "Saved",
    "Secrets",
    "SecretsAway",
    "SentTo",
    "SignInState",
    "SignIns",
    "SignedIn",
    "Stale",
    "StoreAway",
    "TicketStore",
    "TicketsAway",
    "TokenUses",
    "Traits",
    "Unreadable",
    "Unresolved",
    "Updated",
    "Vector",
    "VectorStore",
    "VectorsAway",
]
