"""MySQL and MariaDB: statements judged by their words, run with the privileges of a login that is checked."""
