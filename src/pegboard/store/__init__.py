"""What people decided and what was called, kept in SQLite or PostgreSQL. The only SQL of our own state lives here.

`open_store` gives a `Store`, whose `policy` is a `PolicyStore`, whose `audit` is an `Audit` and whose `secrets` are
`Secrets`, `tickets` a `TicketStore` and `runs` a `RunStore`; whatever is wrong with the database is a `StoreError`.
"""

from .audit import AuditLimits, AuditLog
from .begun import BegunPrograms, left_begun
from .calls import Keeping
from .errors import StoreError, masked
from .opening import Store, open_store
from .policy import Change, StoredPolicy
from .runs import StoredRuns
from .secret_key import key_of
from .secrets import NoKeyError, StoredSecrets
from .tickets import StoredTickets

__all__ = [
    "AuditLimits",
    "AuditLog",
    "BegunPrograms",
    "Change",
    "Keeping",
    "NoKeyError",
    "Store",
    "StoreError",
    "StoredPolicy",
    "StoredRuns",
    "StoredSecrets",
    "StoredTickets",
    "key_of",
    "left_begun",
    "masked",
    "open_store",
]
