"""PostgreSQL: the server enforces what may be read, by the privileges of a login; statements are limited here."""
