"""What the gateway asks of the world. Adapters implement these; the core never sees them."""

from .audit import Audit, AuditQuery, AuditRow, NewerPage, OlderPage, StoreUnavailable
from .encoding import Digest, Encoder, EncoderTraits, EncodingError, Vector, VectorStore, VectorsUnavailable
from .policy import PolicyStore, SavedVersion, StaleVersion
from .references import Expand, ExpandForCaller, UnresolvedReference
from .runs import ActiveRuns, RunStore, RunsUnavailable
from .secrets import SecretStore, SecretsUnavailable, UnreadableSecret
from .signing_in import CompletedSignIn, SignInRedirect, SignIns, SignInState, SignInUnavailable
from .sources import (
    CallerAware,
    ChangeCallback,
    ClientPeer,
    Clock,
    Drainable,
    PeerRequestError,
    Progress,
    Provider,
    ProviderFor,
    ResourceCallback,
    ResourceProvider,
    UsesCallerCredentials,
)
from .tickets import ConsentStore, NoTicketsError, TicketStore, TicketsUnavailable
from .tokens import TokenUsageStore

__all__ = [
    "ActiveRuns",
    "Audit",
    "AuditQuery",
    "AuditRow",
    "CallerAware",
    "ChangeCallback",
    "ClientPeer",
    "Clock",
    "CompletedSignIn",
    "ConsentStore",
    "Digest",
    "Drainable",
    "Encoder",
    "EncoderTraits",
    "EncodingError",
    "Expand",
    "ExpandForCaller",
    "NewerPage",
    "NoTicketsError",
    "OlderPage",
    "PeerRequestError",
    "PolicyStore",
    "Progress",
    "Provider",
    "ProviderFor",
    "ResourceCallback",
    "ResourceProvider",
    "RunStore",
    "RunsUnavailable",
    "SavedVersion",
    "SecretStore",
    "SecretsUnavailable",
    "SignInRedirect",
    "SignInState",
    "SignInUnavailable",
    "SignIns",
    "StaleVersion",
    "StoreUnavailable",
    "TicketStore",
    "TicketsUnavailable",
    "TokenUsageStore",
    "UnreadableSecret",
    "UnresolvedReference",
    "UsesCallerCredentials",
    "Vector",
    "VectorStore",
    "VectorsUnavailable",
]
