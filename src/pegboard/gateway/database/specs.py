"""The tools over databases as callers see them: descriptions with the sources, and schemas of arguments and answers."""

from collections.abc import Iterator, Sequence
from typing import Final

from pegboard.core.database.source import DEFAULT_CALL_ROWS, VisibleDatabase
from pegboard.core.tool import Json, JsonObject, ToolSpec

SEARCH: Final = "search_schemas"
EXECUTE: Final = "execute_sql"
MAX_SQL_CHARS: Final = 100_000
MAX_QUERY_CHARS: Final = 2_000
DEFAULT_TABLES: Final = 5
MAX_TABLES: Final = 20
_MAX_PARAMETERS: Final = 1_000


def _object(required: Sequence[str] = (), /, description: str = "", **properties: Json) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties}
    if description:
        schema["description"] = description
    return {**schema, "required": [*required]} if required else schema


def _list(items: JsonObject | None = None, description: str = "") -> JsonObject:
    schema: JsonObject = {"type": "array", **({"items": items} if items is not None else {})}
    return {**schema, "description": description} if description else schema


def _value(type: str, description: str = "", **rest: Json) -> JsonObject:
    return {"type": type, **rest, **({"description": description} if description else {})}


_TEXT: Final = _value("string")
_NUMBER: Final = _value("integer")
_FLAG: Final = _value("boolean")

_ROWS: Final = _object(
    ("source", "columns", "rows", "row_count", "truncated", "milliseconds"),
    source=_TEXT,
    columns=_list(
        _object(
            ("name", "type"),
            name=_TEXT,
            type=_TEXT,
            written=_list(_TEXT, "How values are written that JSON has no word for."),
        )
    ),
    rows=_list(_list(), "Values in the order of the columns."),
    row_count=_value("integer", "How many rows these are."),
    truncated={
        **_object(
            (),
            "What was left out; null where this is all.",
            more_rows=_FLAG,
            by=_value("string", "The limit that was met: rows or bytes."),
            cut_values=_list(
                _object(row=_NUMBER, column=_TEXT, bytes=_value("integer", "Of the whole value.")),
                "Values that were cut, and end in …",
            ),
        ),
        "type": ["object", "null"],
    },
    changed_rows=_value("integer", "By a statement that changes the database."),
    milliseconds=_value("number"),
)
_TABLES: Final = _object(
    ("tables",),
    tables=_list(
        _object(
            ("source", "table", "columns"),
            source=_TEXT,
            dialect=_TEXT,
            table=_value("string", "As a statement writes it."),
            is_view=_FLAG,
            comment=_TEXT,
            rows_about=_NUMBER,
            columns=_list(
                _object(
                    ("name", "type"),
                    name=_TEXT,
                    type=_TEXT,
                    is_key=_FLAG,
                    is_required=_FLAG,
                    comment=_TEXT,
                    samples=_list(),
                )
            ),
            columns_left=_value("integer", "How many more there are."),
            joins=_list(_TEXT),
            joins_left=_NUMBER,
            example=_value("string", "A statement to begin with."),
        ),
        "The best first.",
    ),
    ranker=_TEXT,
    notices=_list(_TEXT),
)


def execute_spec(sources: Sequence[VisibleDatabase]) -> ToolSpec:
    is_writable = any(source.writes for source in sources)
    about_writes = " A statement that changes a database that may be changed waits for a person's yes."
    description = (
        "Runs one SQL statement in a database and answers with its rows. Find tables and columns with search_schemas "
        "first. Write values as parameters, not into the SQL. One statement a call, without comments for hiding; "
        f"EXPLAIN is allowed.{about_writes if is_writable else ''}\nDatabases:\n" + "\n".join(_lines(sources))
    )
    parameters: JsonObject = {
        "description": "Values for the statement's placeholders: a list by place, or an object by name.",
        "anyOf": [
            _value("array", maxItems=_MAX_PARAMETERS),
            _value("object", maxProperties=_MAX_PARAMETERS),
        ],
    }
    most_rows = max((source.rows for source in sources), default=DEFAULT_CALL_ROWS)
    arguments = _object(
        ("source", "sql"),
        source=_value("string", "Which database.", enum=_ids(sources)),
        sql=_value("string", "One statement, in the dialect of the database.", minLength=1, maxLength=MAX_SQL_CHARS),
        parameters=parameters,
        max_rows=_value(
            "integer", f"The most rows to answer with. By default {DEFAULT_CALL_ROWS}.", minimum=1, maximum=most_rows
        ),
    )
    return ToolSpec(
        EXECUTE,
        "Run SQL",
        description,
        _without_other_properties(arguments),
        _ROWS,
        _annotations(is_writable=is_writable),
    )


def search_spec(sources: Sequence[VisibleDatabase]) -> ToolSpec:
    description = (
        "Finds tables and columns of databases by what they mean: names, comments, keys and relations. Answers with "
        "columns and their types, relations and an example query for each table.\nDatabases:\n"
        + "\n".join(_lines(sources))
    )
    limit = _value("integer", "How many tables at most.", minimum=1, maximum=MAX_TABLES, default=DEFAULT_TABLES)
    arguments = _object(
        ("query",),
        query=_value("string", "What you want to know, in words.", minLength=1, maxLength=MAX_QUERY_CHARS),
        source=_value("string", "Only in this database.", enum=_ids(sources)),
        limit=limit,
    )
    return ToolSpec(
        SEARCH, "Search schemas", description, _without_other_properties(arguments), _TABLES, _annotations()
    )


def _without_other_properties(arguments: JsonObject) -> JsonObject:
    return {**arguments, "additionalProperties": False}


def _ids(sources: Sequence[VisibleDatabase]) -> list[Json]:
    return [str(source.id) for source in sources]


def _annotations(*, is_writable: bool = False) -> JsonObject:
    return {
        "readOnlyHint": not is_writable,
        "destructiveHint": is_writable,
        "idempotentHint": not is_writable,
        "openWorldHint": False,
    }


def _lines(sources: Sequence[VisibleDatabase]) -> Iterator[str]:
    for source in sources:
        may = ", may be changed" if source.writes else ""
        about = f": {source.description}" if source.description else ""
        yield f"- {source.id} ({source.dialect}{may}){about}"
