"""What people decided and what was called, kept in SQLite or PostgreSQL. The only SQL of our own state lives here.

`open_store` gives a `Store`, whose `policy` is a `PolicyStore`, whose `audit` is an `Audit` and whose `secrets` are
`Secrets`, and `tickets` a `TicketStore`; whatever is wrong with the database is a `StoreError`.
"""

from .audit import AuditLimits, AuditLog
from .calls import Keeping
from .errors import StoreError, masked
from .opening import Store, open_store
from .policy import Change, StoredPolicy
from .secret_key import key_of
from .secrets import NoKeyError, StoredSecrets
from .tickets import StoredTickets

__all__ = [
    "AuditLimits",
    "AuditLog",
    "Change",
    "Keeping",
    "NoKeyError",
    "Store",
    "StoreError",
    "StoredPolicy",
    "StoredSecrets",
    "StoredTickets",
    "key_of",
    "masked",
    "open_store",
]
