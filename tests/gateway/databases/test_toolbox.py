"""Databases on the board: their tools are there while one is on, and whatever runs in one that is left ends."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import run

import anyio
import pytest
from tests.core.boards import ME
from tests.gateway.asking import YES, text_of, ticket_of
from tests.gateway.databases.engines import (
    AT,
    CHECKED,
    ScriptedEngines,
    asks,
    database,
    declaring,
    housing,
)
from tests.store.engines import now
from tests.support.asking import AskedClient
from tests.support.house import House, call_of

from pegboard.core.calls.call import (
    AnnotatedSuccess,
    BadArguments,
    CallCancellation,
    CallRecord,
    ConfirmationRefusal,
    ToolFailure,
    UnknownTool,
)
from pegboard.core.calls.secret_arguments import DisplayedArguments
from pegboard.core.calls.tickets import ConsentScope
from pegboard.core.commands.commands import SetOverride, SetSwitch
from pegboard.core.databases.rows import (
    DatabaseCheck,
    DatabaseFinding,
    FindingSeverity,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.json.values import Json
from pegboard.core.model.databases import QueryLimits
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.model.tool import canonical_json
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.databases import source as source_module
from pegboard.gateway.databases.results import without_folders
from pegboard.gateway.databases.source import CHECK_INTERVAL_S, run_database_checks
from pegboard.store.open import open_store
from pegboard.store.secrets import key_of
from pegboard.surfaces.rest.databases import database_findings

pytestmark = pytest.mark.anyio

SQL = ToolId(BuiltinKey(), "execute_sql")
SHOP = database("shop")


async def says(house: House, board: DeclaredSettings) -> None:
    """The operator's file is edited."""
    assert await house.gateway.operator.apply_settings(board) == ()


async def sql(house: House, statement: str, peer: AskedClient | None = None, **more: object) -> CallOutcome:
    call = call_of("execute_sql", asks(statement, **more))  # type: ignore[arg-type]
    return await house.gateway.caller.call(call, View(), None, peer)


def names(house: House) -> list[str]:
    return [str(id) for id in house.board.resolution(View()).open_ids]


@pytest.mark.behaviour("databases.tools_while_one_is_on", "databases.follow_the_file")
async def test_the_tools_are_on_the_board_while_a_database_is_on() -> None:
    async with housing(declaring(replace(SHOP, enabled=False)), ScriptedEngines()) as house:
        assert names(house) == ["mcp:dev~github:search"]
        assert isinstance(await sql(house, "read"), UnknownTool)
        await says(house, declaring(SHOP))
        await house.until(lambda: SQL in house.board.catalogue.tools)
        assert names(house) == ["execute_sql", "search_schemas", "mcp:dev~github:search"]
        await says(house, declaring())
        await house.until(lambda: SQL not in house.board.catalogue.tools)
        assert names(house) == ["mcp:dev~github:search"]


@pytest.mark.behaviour("databases.tools_while_one_is_on")
async def test_the_tools_name_every_source_its_dialect_and_what_is_in_it() -> None:
    hr = database("hr", description="People.", writes=True)
    async with housing(declaring(SHOP, hr, database("off", enabled=False)), ScriptedEngines()) as house:
        for name in ("search_schemas", "execute_sql"):
            spec = house.board.catalogue.tools[ToolId(BuiltinKey(), name)].spec
            assert '"enum":["hr","shop"]' in canonical_json(spec.input_schema).decode()
            assert spec.description.endswith("- hr (SQLite, may be changed): People.\n- shop (SQLite)")
            assert spec.output_schema is not None
            assert spec.hints.read_only is (name == "search_schemas")
    async with housing(declaring(SHOP), ScriptedEngines()) as house:
        assert house.board.catalogue.tools[SQL].spec.hints.read_only


@pytest.mark.behaviour("databases.structured_answer", "databases.audited", "builtins.execute_sql_answers")
async def test_a_statement_is_run_with_its_parameters_and_limits_and_recorded_with_its_rows() -> None:
    engines = ScriptedEngines()
    async with housing(declaring(database("shop", limits=QueryLimits(rows=500))), engines) as house:
        assert engines.made == []
        ended = await sql(house, "read")
        assert isinstance(ended, AnnotatedSuccess)
        assert json.loads(ended.body) == {
            "content": [{"type": "text", "text": "| n |\n|---|\n| 1 |"}],
            "structuredContent": {
                "source": "shop",
                "columns": [{"name": "n", "type": "INTEGER"}],
                "rows": [[1]],
                "row_count": 1,
                "truncated": None,
                "milliseconds": 500.0,
            },
        }
        await sql(house, "by place", parameters=[1, "two", None])
        await sql(house, "by name", parameters={"city": "Lyon"}, max_rows=400)
        (engine,) = engines.made
        usual = QueryLimits(rows=100)
        assert engine.ran == [
            ("read", (), usual, False),
            ("by place", [1, "two", None], usual, False),
            ("by name", {"city": "Lyon"}, QueryLimits(rows=400), False),
        ]
        assert [
            record.outcome.note for record in house.audit.records if isinstance(record.outcome, AnnotatedSuccess)
        ] == ["1 row of shop."] * 3
        beyond = await sql(house, "read", max_rows=501)
        assert isinstance(beyond, BadArguments)
        assert engine.checks == 1


@pytest.mark.behaviour("databases.writes_confirmed")
async def test_a_statement_that_writes_is_refused_where_the_source_may_not_be_changed() -> None:
    engines = ScriptedEngines()
    async with housing(declaring(SHOP), engines) as house:
        client = AskedClient(YES)
        ended = await sql(house, "write it", client)
        assert text_of(ended).startswith("Refused: shop may only be read, and this statement would change it.")
        assert client.asked == []
        assert [write for *_, write in engines.made[0].ran] == [False]


@pytest.mark.behaviour("databases.writes_confirmed", "databases.audited")
async def test_a_statement_that_writes_runs_after_a_yes_to_itself_and_reading_needs_none() -> None:
    engines = ScriptedEngines()
    async with housing(declaring(database("shop", writes=True)), engines) as house:
        client = AskedClient(YES)
        assert isinstance(await sql(house, "read", client), AnnotatedSuccess)
        assert client.asked == []
        ended = await sql(house, "write it", client)
        assert isinstance(ended, AnnotatedSuccess)
        assert json.loads(ended.body)["structuredContent"]["changed_rows"] == 3
        ((_, params),) = client.asked
        assert '"sql": "write it"' in str(params["message"])
        no = await sql(house, "write more", AskedClient({"action": "decline"}))
        assert isinstance(no, ConfirmationRefusal)
        assert [(statement, write) for statement, _, _, write in engines.made[0].ran] == [
            ("read", False),
            ("write it", False),
            ("write it", False),
            ("write it", True),
            ("write more", False),
        ]
        said = [
            record.outcome.note if isinstance(record.outcome, AnnotatedSuccess) else ""
            for record in house.audit.records
        ]
        assert said == ["1 row of shop.", "3 rows of shop changed.", ""]


@pytest.mark.behaviour("databases.values_confirmed", "databases.recorded_without_values")
async def test_values_are_shown_to_whoever_decides_and_hidden_in_the_record(tmp_path: Path) -> None:
    values: Json = {"password": "1 or all", "token": 1}
    async with (
        open_store(f"sqlite:///{tmp_path / 't.db'}", clock=now, key=key_of({}, tmp_path)) as kept,
        housing(declaring(database("shop", writes=True)), ScriptedEngines(), kept.tickets) as house,
    ):
        ticket_of(await sql(house, "write it", parameters=values))
        (waiting,) = await house.gateway.tickets.pending_tickets()
        assert "1 or all" not in str(waiting.redacted_arguments)
        for full in (False, True):
            displayed = await house.gateway.tickets.display(waiting, full=full)
            assert displayed == DisplayedArguments(dict(asks("write it", parameters=values)), ())
        client = AskedClient(YES)
        assert isinstance(await sql(house, "write more", client, parameters=values), AnnotatedSuccess)
        ((_, params),) = client.asked
        assert json.dumps(values) in str(params["message"])
        assert "1 or all" not in repr([record.recorded_arguments for record in house.audit.records])


@pytest.mark.behaviour("databases.writes_confirmed")
async def test_no_yes_to_all_calls_writes_and_a_ticket_shows_the_statement(tmp_path: Path) -> None:
    engines = ScriptedEngines()
    async with (
        open_store(f"sqlite:///{tmp_path / 't.db'}", clock=now, key=key_of({}, tmp_path)) as kept,
        housing(declaring(database("shop", writes=True)), engines, kept.tickets) as house,
    ):
        ticket = ticket_of(await sql(house, "write it"))
        (waiting,) = await house.gateway.tickets.pending_tickets()
        assert waiting.redacted_arguments == asks("write it")
        secretive = "write /*password=*/OR/**/1"
        found = await house.gateway.tickets.find(ticket_of(await sql(house, secretive)))
        assert found is not None
        assert await house.gateway.tickets.display(found) == DisplayedArguments(dict(asks(secretive)), ())
        for scope in (ConsentScope.ALWAYS, ConsentScope.CLIENT):
            assert isinstance(await house.gateway.tickets.allow(ticket, scope, ME), CommandRejection)
        assert len(await house.gateway.tickets.pending_tickets()) == 2
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert isinstance(await sql(house, "write it"), AnnotatedSuccess)
        ticket_of(await sql(house, "write it"))
        ticket_of(await sql(house, "write other"))
        assert [statement for statement, _, _, write in engines.made[0].ran if write] == ["write it"]


@pytest.mark.behaviour("databases.writes_confirmed")
@pytest.mark.parametrize("writes", [False, True])
async def test_where_every_call_is_asked_about_a_yes_to_all_is_taken_only_if_nothing_can_be_changed(
    tmp_path: Path, writes: bool
) -> None:
    engines = ScriptedEngines()
    async with (
        open_store(f"sqlite:///{tmp_path / 't.db'}", clock=now, key=key_of({}, tmp_path)) as kept,
        housing(declaring(database("shop", writes=writes)), engines, kept.tickets) as house,
    ):
        await house.does(SetOverride(Override(SQL.toolset, SQL, requires_confirmation=True)))
        ticket = ticket_of(await sql(house, "read"))
        said = await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
        assert isinstance(said, CommandRejection) is writes
        if writes:
            await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert isinstance(await sql(house, "read"), AnnotatedSuccess)
        again = await sql(house, "read other")
        assert isinstance(again, ConfirmationRefusal) is writes
        assert [statement for statement, _, _, write in engines.made[0].ran if write] == []


@pytest.mark.behaviour("databases.errors_help")
async def test_names_are_hinted_at_only_where_one_is_wrong() -> None:
    kept = StatementFailure(
        'insert or update on table "orders" violates foreign key constraint "orders_cit_fkey": city'
    )
    wrong = StatementFailure("no such column: cty", fault=StatementFault.NO_COLUMN, name="cty")
    engines = ScriptedEngines(answers={"SELECT city FROM orders": kept, "SELECT cty FROM orders": wrong})
    async with housing(declaring(SHOP), engines) as house:
        assert text_of(await sql(house, "SELECT city FROM orders")).splitlines() == [
            f"shop answers: {kept.message}",
            "orders has id INTEGER, city TEXT",
        ]
        assert "Did you mean orders.city?" in text_of(await sql(house, "SELECT cty FROM orders"))


@pytest.mark.behaviour("databases.follow_the_file", "databases.cancelled")
async def test_a_source_that_is_switched_off_ends_what_runs_there_and_is_closed() -> None:
    engines = ScriptedEngines(held=anyio.Event())
    other = database("other")
    async with housing(declaring(SHOP, other), engines) as house:
        ended: list[CallOutcome] = []

        async def ask() -> None:
            ended.append(await sql(house, "read"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await engines.first.wait()
            await engines.made[0].began.wait()
            await says(house, declaring(other))
        assert text_of(ended[0]).startswith(
            "Database 'shop' cannot be asked: it was switched off, or its settings were"
        )
        await engines.made[0].closed.wait()
        assert engines.made[0].given_up == 1
        refused = await sql(house, "read")
        assert isinstance(refused, BadArguments)


@pytest.mark.behaviour("databases.follow_the_file")
async def test_an_edit_that_is_not_about_a_source_leaves_it_open() -> None:
    engines = ScriptedEngines()
    async with housing(declaring(SHOP), engines) as house:
        await sql(house, "read")
        stamp = house.board.catalogue
        await says(house, declaring(replace(SHOP, origin=replace(AT, line=99))))
        await sql(house, "read")
        assert (len(engines.made), house.board.catalogue) == (1, stamp)
        await says(house, declaring(replace(SHOP, limits=QueryLimits(rows=3))))
        await house.until(lambda: house.board.catalogue != stamp)
        await sql(house, "read")
        assert [engine.database.limits.rows for engine in engines.made] == [1000, 3]
        await engines.made[0].closed.wait()


@pytest.mark.behaviour("databases.cancelled", "audit.every_call")
async def test_a_caller_that_leaves_stops_its_statement() -> None:
    engines = ScriptedEngines(held=anyio.Event())
    async with housing(declaring(SHOP), engines) as house:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sql, house, "read")
            await engines.first.wait()
            await engines.made[0].began.wait()
            tasks.cancel_scope.cancel()
        assert engines.made[0].given_up == 1
        assert [record.outcome for record in house.audit.records] == [CallCancellation()]


@pytest.mark.behaviour("databases.cancelled")
async def test_the_end_of_the_gateway_closes_every_source() -> None:
    engines = ScriptedEngines()
    async with housing(declaring(SHOP, database("other")), engines) as house:
        for id in ("shop", "other"):
            await sql(house, "read", source=id)
    assert [engine.closed.is_set() for engine in engines.made] == [True, True]


@pytest.mark.behaviour("databases.errors_help")
async def test_a_source_that_cannot_be_opened_is_told_and_tried_again_by_the_next() -> None:
    engines = ScriptedEngines()
    engines.away = "there is no file shop.db. Create it."
    async with housing(declaring(SHOP), engines) as house:
        assert text_of(await sql(house, "read")) == f"Database 'shop' cannot be asked: {engines.away}"
        engines.away = None
        assert isinstance(await sql(house, "read"), AnnotatedSuccess)
        engines.made[0].answers["gone"] = StatementFailure(
            "the server closed the connection", fault=StatementFault.UNAVAILABLE
        )
        assert isinstance(await sql(house, "gone"), ToolFailure)
        assert isinstance(await sql(house, "read"), AnnotatedSuccess)
        assert len(engines.made) == 2


@pytest.mark.behaviour("databases.doctor")
async def test_a_source_that_must_not_be_served_is_not_unless_its_operator_insists() -> None:
    grave = DatabaseCheck(
        "PostgreSQL 15",
        "postgres",
        (DatabaseFinding("postgres is a superuser. Create a role.", FindingSeverity.REFUSED_UNLESS_FORCED),),
    )
    async with housing(declaring(SHOP), ScriptedEngines(checked=grave)) as house:
        told = text_of(await sql(house, "read"))
        assert told == "Database 'shop' cannot be asked: postgres is a superuser. Create a role."
        (finding,) = await database_findings(house.gateway.databases)
        assert finding.message == "Database shop cannot be asked: postgres is a superuser. Create a role."
        assert finding.severity == "error"
    async with housing(declaring(database("shop", force=True)), ScriptedEngines(checked=grave)) as house:
        assert isinstance(await sql(house, "read"), AnnotatedSuccess)
        (finding,) = await database_findings(house.gateway.databases)
        assert (finding.message, finding.severity) == (
            "Database shop: postgres is a superuser. Create a role.",
            "warning",
        )


EXCESS = DatabaseCheck(
    "PostgreSQL 18",
    "reader",
    (
        DatabaseFinding(
            "'reader' can read staff.pay.", FindingSeverity.REFUSED, ("REVOKE SELECT ON staff FROM reader",)
        ),
    ),
)


@pytest.mark.behaviour("databases.excess_privileges_refused")
async def test_a_login_that_can_read_what_is_denied_is_refused_even_with_force_and_agents_see_no_name() -> None:
    for forced in (False, True):
        engines = ScriptedEngines(checked=EXCESS)
        async with housing(declaring(database("shop", force=forced)), engines) as house:
            text = text_of(await sql(house, "read"))
            assert [engine.ran for engine in engines.made] == [[]]
            (finding,) = [each for each in await database_findings(house.gateway.databases) if each.severity == "error"]
        assert "pegboard db role shop" in text
        assert "staff" not in text
        assert "staff" not in finding.message


@pytest.mark.behaviour("databases.excess_privileges_refused")
async def test_the_privileges_of_a_login_are_checked_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    engines, clock = ScriptedEngines(), [100.0]
    monkeypatch.setattr(source_module, "monotonic", lambda: clock[0])
    async with housing(declaring(SHOP), engines) as house:
        assert isinstance(await sql(house, "read"), AnnotatedSuccess)
        (engine,) = engines.made
        engine.checked = EXCESS
        clock[0] += CHECK_INTERVAL_S - 1
        assert isinstance(await sql(house, "read"), AnnotatedSuccess)
        clock[0] += 1
        assert "pegboard db role shop" in text_of(await sql(house, "read"))
        assert (engine.checks, len(engine.ran)) == (2, 2)


@pytest.mark.behaviour("databases.doctor")
async def test_a_look_at_all_sources_tells_of_each() -> None:
    engines = ScriptedEngines()
    async with housing(declaring(SHOP, database("other")), engines) as house:
        assert house.gateway.databases.toolbox is not None
        looked = await run_database_checks([*house.gateway.databases.toolbox.sources.values()])
        assert [(each.source.database.id, each.result, each.problem is None, each.findings) for each in looked] == [
            ("other", CHECKED, True, ()),
            ("shop", CHECKED, True, ()),
        ]
        assert await database_findings(house.gateway.databases) == ()


@pytest.mark.behaviour("databases.tools_while_one_is_on", "builtins.on_the_board")
async def test_the_tools_follow_switches_like_any_other() -> None:
    engines = ScriptedEngines()
    async with housing(declaring(SHOP), engines) as house:
        await house.does(SetSwitch(SQL, enabled=False))
        ended = await sql(house, "read")
        assert house.statuses()["execute_sql"] == "disabled_by_user"
        assert engines.made == []
        (record,) = house.audit.records
        told = '{"source":"shop","sql":"… (4 characters that are not told)"}'.encode()
        assert record == CallRecord(
            call_of("execute_sql", asks("read")), SQL, ended, record.duration, 1, recorded_arguments=told
        )


@pytest.mark.behaviour("databases.errors_help")
async def test_what_the_engine_refuses_is_told_with_what_to_write_instead() -> None:
    engines = ScriptedEngines(answers={"two": StatementRefusal("these are two statements", "Ask one at a time.")})
    async with housing(declaring(SHOP), engines) as house:
        assert text_of(await sql(house, "two")) == "Refused by shop: these are two statements. Ask one at a time."


@pytest.mark.behaviour("databases.not_loaded_without_any")
def test_a_gateway_without_databases_loads_nothing_of_them() -> None:
    script = (
        "import sys, pegboard.gateway.gateway, pegboard.config.settings, pegboard.bootstrap.application\n"
        "late = ('pegboard.gateway.databases.', 'pegboard.ports.databases', 'sqlite3',"
        "'duckdb', 'pegboard.providers.database', 'pglast', 'sqlglot', 'psycopg', 'pymysql')\n"
        "print([name for name in sys.modules if name.startswith(late) and not name.endswith('.lifecycle')])"
    )
    done = run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_caller_is_told_of_a_file_by_its_name_alone() -> None:
    told = without_folders("There is no file '/srv/data/shop.db'. It is not '/shop.db' or 'a/b'. Ask at 10.0.0.1/shop.")
    assert told == "There is no file 'shop.db'. It is not 'shop.db' or 'a/b'. Ask at 10.0.0.1/shop."
