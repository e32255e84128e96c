"""What people decided and what was called, kept in SQLite or PostgreSQL. The only SQL of our own state lives here.

`open_store` gives a `Store`, whose `policy` is a `PolicyStore` and whose `audit` is an `Audit`; whatever is wrong with
the database is a `StoreError`.
"""

from .audit import AuditLimits, AuditLog
from .errors import StoreError, masked
from .opening import Store, open_store
from .policy import Change, StoredPolicy

__all__ = ["AuditLimits", "AuditLog", "Change", "Store", "StoreError", "StoredPolicy", "masked", "open_store"]
