"""What people decided and what was called, kept in SQLite or PostgreSQL. The only SQL of our own state lives here.

`open_store` gives a `Store`, whose `policy` is a `PolicyStore`, whose `audit` is an `Audit` and whose `secrets` are
`Secrets`, `tickets` a `TicketStore` and `runs` a `RunStore`; whatever is wrong with the database is a `StoreError`.
"""

from .audit import AuditLimits, AuditLog
from .begun import ActiveProgramLog, abandoned_programs
from .calls import ContentRetention
from .errors import StoreError, mask_passwords
from .opening import Store, open_store
from .policy import PolicyChange, SqlPolicyStore
from .runs import SqlRunStore
from .secret_key import key_of
from .secrets import NoKeyError, SqlSecretStore
from .tickets import SqlTicketStore

__all__ = [
    "ActiveProgramLog",
    "AuditLimits",
    "AuditLog",
    "ContentRetention",
    "NoKeyError",
    "PolicyChange",
    "SqlPolicyStore",
    "SqlRunStore",
    "SqlSecretStore",
    "SqlTicketStore",
    "Store",
    "StoreError",
    "abandoned_programs",
    "key_of",
    "mask_passwords",
    "open_store",
]
