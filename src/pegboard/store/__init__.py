"""Our own state in SQLite or PostgreSQL: the only SQL of it is here.

`open_store` gives a `Store`, whose `policy` is a `PolicyStore`, whose `audit` is an `Audit` and whose `secrets` are
`Secrets`, `tickets` a `TicketStore` and `runs` a `RunStore`; whatever is wrong with the database is a `StoreError`.
"""
