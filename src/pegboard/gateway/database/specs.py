"""What callers are told of the tools over databases: their arguments, and which sources there are."""

from collections.abc import Iterator, Sequence
from typing import Final

from pegboard.core.database.declaration import USUAL_ROWS
from pegboard.core.database.sourced import SourceTold
from pegboard.core.tool import JsonObject, ToolSpec

SEARCH: Final = "search_schemas"
EXECUTE: Final = "execute_sql"
LONGEST_SQL: Final = 100_000
LONGEST_QUERY: Final = 2_000
USUAL_TABLES: Final = 5
MOST_TABLES: Final = 20
_MOST_PARAMETERS: Final = 1_000


def execute_spec(output: JsonObject, sources: Sequence[SourceTold]) -> ToolSpec:
    ids = [str(source.id) for source in sources]
    writes = any(source.writes for source in sources)
    changing = " A statement that changes a database that may be changed waits for a person's yes." if writes else ""
    description = (
        "Runs one SQL statement in a database and answers with its rows. Find tables and columns with search_schemas "
        "first. Write values as parameters, not into the SQL. One statement a call, without comments for hiding; "
        f"EXPLAIN is allowed.{changing}\nDatabases:\n" + "\n".join(_lines(sources))
    )
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "source": {"type": "string", "enum": [*ids], "description": "Which database."},
            "sql": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_SQL,
                "description": "One statement, in the dialect of the database.",
            },
            "parameters": {
                "description": "Values for the statement's placeholders: a list by place, or an object by name.",
                "anyOf": [
                    {"type": "array", "maxItems": _MOST_PARAMETERS},
                    {"type": "object", "maxProperties": _MOST_PARAMETERS},
                ],
            },
            "max_rows": {
                "type": "integer",
                "minimum": 1,
                "maximum": max((source.rows for source in sources), default=USUAL_ROWS),
                "description": f"The most rows to answer with. By default {USUAL_ROWS}.",
            },
        },
        "required": ["source", "sql"],
        "additionalProperties": False,
    }
    hints: JsonObject = {
        "readOnlyHint": not writes,
        "destructiveHint": writes,
        "idempotentHint": not writes,
        "openWorldHint": False,
    }
    return ToolSpec(EXECUTE, "Run SQL", description, schema, output, hints)


def search_spec(output: JsonObject, sources: Sequence[SourceTold]) -> ToolSpec:
    ids = [str(source.id) for source in sources]
    description = (
        "Finds tables and columns of databases by what they mean: names, comments, keys and relations. Answers with "
        "columns and their types, relations and an example query for each table.\nDatabases:\n"
        + "\n".join(_lines(sources))
    )
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_QUERY,
                "description": "What you want to know, in words.",
            },
            "source": {"type": "string", "enum": [*ids], "description": "Only in this database."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_TABLES,
                "default": USUAL_TABLES,
                "description": "How many tables at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    hints: JsonObject = {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    return ToolSpec(SEARCH, "Search schemas", description, schema, output, hints)


def _lines(sources: Sequence[SourceTold]) -> Iterator[str]:
    for source in sources:
        may = ", may be changed" if source.writes else ""
        about = f": {source.description}" if source.description else ""
        yield f"- {source.id} ({source.dialect}{may}){about}"
