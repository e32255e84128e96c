"""`pegboard db`."""

import json
import sys
from typing import Any, Final
from urllib.parse import quote

import click

from pegboard.core.model.ids import BUILTIN
from pegboard.surfaces.cli.api import ApiClient
from pegboard.surfaces.cli.options import call_api, gateway_command
from pegboard.surfaces.cli.output import (
    Exit,
    clean,
    fail,
    one_line,
    print_json,
    print_progress,
    print_text,
    result_text,
    table,
)
from pegboard.surfaces.cli.tickets import decide_at_terminal
from pegboard.surfaces.cli.tools import CALL_CODES

_TITLES: Final = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgresql": "PostgreSQL", "mysql": "MySQL", None: "unknown"}
_NO_DATABASES: Final = "No databases. Declare one under databases in pegboard.yaml: docs/how-to/databases.md"
_EXIT_CODES: Final = {"refused": Exit.REFUSED, "away": Exit.UNREACHABLE}
"""Of a statement that was not run."""
MAX_SQL_CHARS: Final = 1_000_000


@click.group()
def db() -> None:
    """Databases that models may ask."""


@db.command("list")
@gateway_command()
async def list_databases(api: ApiClient, *, as_json: bool) -> None:
    """Every database of pegboard.yaml, as it is declared. Nothing is asked of it."""
    body = await call_api(api, "GET", "/databases")
    if as_json:
        print_json(body)
        return
    if not body["databases"]:
        print_text(_NO_DATABASES)
        return
    rows = [
        (
            f"{'●' if each['active'] else '○'} {each['id']}",
            _TITLES[each["dialect"]],
            each["url"],
            _database_flags(each),
        )
        for each in body["databases"]
    ]
    print_text(table(("DATABASE", "KIND", "WHERE", "HOW"), rows))


@db.command()
@click.argument("source", required=False)
@gateway_command()
async def check(api: ApiClient, source: str | None, *, as_json: bool) -> int:
    """Ask every database, or one, who you are there and what may be seen. Nothing is changed.

    Ends with 1 when a database cannot be asked, and with 4 for one that is not declared.
    """
    params = [] if source is None else [("source", source)]
    body = await call_api(api, "GET", "/databases/check", params=params, waiting="the databases")
    if as_json:
        print_json(body)
    elif not body["databases"]:
        print_text(_NO_DATABASES)
    else:
        print_text("\n".join(line for each in body["databases"] for line in _check_lines(each)))
    return Exit.OK if all(each["served"] for each in body["databases"]) else Exit.FAILED


@db.command()
@click.argument("source")
@click.option("--apply", is_flag=True, help="Run the statements. Needs --admin-url.")
@click.option(
    "--admin-url",
    envvar="PEGBOARD_DB_ADMIN_URL",
    metavar="URL",
    help="The database's URL with an administrator's user and password. It is not kept.",
)
@gateway_command()
async def role(api: ApiClient, source: str, *, apply: bool, admin_url: str | None, as_json: bool) -> None:
    """Print the SQL that creates or repairs the login of a database: it may then do exactly what the board allows.

    Example: pegboard db role shop > role.sql
    """
    if apply and not admin_url:
        fail(Exit.USAGE, "--apply needs --admin-url, or the variable PEGBOARD_DB_ADMIN_URL.")
    body = {"adminUrl": admin_url, "apply": apply}
    path = f"/databases/{quote(source, safe='')}/role"
    script = await call_api(api, "POST", path, body=body, waiting=f"the database {source}")
    if as_json:
        print_json(script)
        return
    print_text("\n".join(f"{statement};" for statement in script["statements"]))
    if apply:
        print_progress(f"Applied as the administrator. Now check it: pegboard db check {source}")


@db.command()
@click.argument("query")
@click.option("--source", help="Only in this database.")
@click.option("--limit", type=click.IntRange(1, 20), help="Tables at most.  [default: 5]")
@gateway_command()
async def search(api: ApiClient, query: str, source: str | None, limit: int | None, *, as_json: bool) -> int:
    """Find tables and columns by what they mean: the answer that a model gets from search_schemas."""
    arguments: dict[str, object] = {"query": query}
    arguments |= {} if source is None else {"source": source}
    arguments |= {} if limit is None else {"limit": limit}
    return await _call_tool(api, "search_schemas", arguments, as_json)


@db.command()
@click.argument("source")
@click.argument("sql", required=False)
@click.option(
    "--param", "params", multiple=True, help="A value for a placeholder: JSON, or else text. May be repeated."
)
@click.option("--max-rows", type=click.IntRange(1, 10_000), help="Rows at most.  [default: 100]")
@gateway_command()
async def query(
    api: ApiClient, source: str, sql: str | None, params: tuple[str, ...], max_rows: int | None, *, as_json: bool
) -> int:
    """Run one statement: the answer that a model gets from execute_sql. Without SQL, or with -, it is read from
    standard input.

    A placeholder is written as the database has it; --param NAME=VALUE gives one by its name, --param VALUE by place.
    """
    statement = _read_statement(sql)
    arguments: dict[str, object] = {"source": source, "sql": statement}
    arguments |= {} if max_rows is None else {"max_rows": max_rows}
    arguments |= {} if not params else {"parameters": _parse_parameters(params)}
    return await _call_tool(api, "execute_sql", arguments, as_json)


async def _call_tool(api: ApiClient, tool: str, arguments: dict[str, object], as_json: bool) -> int:
    known = [each["id"] for each in (await call_api(api, "GET", "/databases"))["databases"] if each["active"]]
    if not known:
        fail(Exit.NOT_FOUND, _NO_DATABASES)
    if (source := arguments.get("source")) is not None and source not in known:
        fail(Exit.NOT_FOUND, f"There is no database {str(source)[:64]!r} in use. There are: {', '.join(known)}")
    # By the name that means the gateway's own, whatever a server calls its tools.
    body = {"tool": f"{BUILTIN}__{tool}", "arguments": arguments}
    ended = await call_api(api, "POST", "/call", body=body, waiting=f"{tool} (Ctrl-C gives it up)")
    if ended["outcome"] == "confirmation_required" and not as_json and await decide_at_terminal(api, ended["ticket"]):
        ended = await call_api(api, "POST", "/call", body=body, waiting=f"{tool} (Ctrl-C gives it up)")
    code = CALL_CODES.get(ended["outcome"], Exit.REFUSED)
    why = ended.get("result", {}).get("_meta", {}).get("pegboard/database")
    code = _EXIT_CODES.get(why, code)
    if as_json:
        print_json(ended.get("result", {}).get("structuredContent", ended))
    elif "result" not in ended:
        hint = " It may have run: look before you call again." if ended.get("mayHaveRun") else ""
        told = ended.get("message", ended["outcome"])
        fail(code, f"{told.rstrip('.')}.{hint}" if hint else told)
    elif code == Exit.OK:
        print_text(result_text(ended["result"]))
    else:
        fail(code, clean(result_text(ended["result"])))
    return code


def _read_statement(sql: str | None) -> str:
    if sql is not None and sql != "-":
        return sql
    if sys.stdin.isatty():
        print_progress("  … reading SQL from the terminal; end it with Ctrl-D")
    try:
        text = sys.stdin.read(MAX_SQL_CHARS + 1)
    except UnicodeDecodeError:
        fail(Exit.USAGE, "standard input is not UTF-8 text. Convert it first.")
    if not text.strip():
        fail(Exit.USAGE, "there is no SQL. Write it after the source, or into standard input.")
    if len(text) > MAX_SQL_CHARS:
        fail(Exit.USAGE, f"the SQL has more than {MAX_SQL_CHARS:,} characters.")
    return text


def _parse_parameters(given: tuple[str, ...]) -> list[object] | dict[str, object]:
    pairs = [text.partition("=") for text in given]
    named = [name.isidentifier() and bool(sign) for name, sign, _ in pairs]
    if all(named):
        return {name: _parse_value(value) for name, _, value in pairs}
    if any(named):
        fail(Exit.USAGE, "--param gives either NAME=VALUE each time, or VALUE each time.")
    return [_parse_value(text) for text in given]


def _parse_value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _database_flags(each: dict[str, Any]) -> str:
    words = ["may be changed after a yes" if each["writes"] else "read-only"]
    words += ["samples are read"] if each["samples"] else []
    words += ["forced"] if each["force"] else []
    words += [] if each["active"] else ["off"]
    return ", ".join(words)


def _check_lines(each: dict[str, Any]) -> list[str]:
    mark = "●" if each["served"] else "○"
    if each["served"]:
        role = "" if each["role"] is None else f", as {each['role']}"
        counted = f"{each['tables']} table{'' if each['tables'] == 1 else 's'} of {each['columns']} columns"
        changes = ", may be changed after a yes" if each["writes"] else ""
        lines = [f"{mark} {each['id']}: {one_line(each['version'] or '')}{one_line(role)}; {counted}{changes}"]
    else:
        lines = [f"{mark} {each['id']} cannot be asked: {one_line(each['reason'])}"]
    for finding in each["findings"]:
        lines.append(f"  ! {one_line(finding['message'])}")
        lines += [f"      {one_line(statement)};" for statement in finding["statements"]]
    return lines
