"""Which stage plays a dialect."""

from collections.abc import Mapping
from typing import Final

from benchmarks.sql_attacks.embedded import duckdb_stage, sqlite_stage
from benchmarks.sql_attacks.served import mysql_stage, postgres_stage
from benchmarks.sql_attacks.stage import Open

STAGES: Final[Mapping[str, Open]] = {
    "sqlite": sqlite_stage,
    "duckdb": duckdb_stage,
    "postgres": postgres_stage,
    "mysql": mysql_stage,
}
