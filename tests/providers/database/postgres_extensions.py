"""A shop with extensions in it, what is closed there, and statements that try to reach it through each of them."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import asyncpg
from tests.providers.database.postgres_shop import access

from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementFailure, StatementFault
from pegboard.core.model.databases import QueryLimits
from pegboard.providers.database.postgres.engine import PostgresEngine

CLOSED: Final = access("staff_salaries", "customers.iban", "places.hideout", "hr.*", "hr_topology.*")
LIMITS: Final = QueryLimits(rows=20, seconds=5)
CANARIES: Final = ("987654", "DE0212030", "13.377", "52.516", "top.secret", "hidden=>", "xyzzy")
"""Parts of what is closed."""

BASE: Final = """
CREATE TABLE staff_salaries (id int PRIMARY KEY, amount int, word text);
INSERT INTO staff_salaries VALUES (1, 987654, 'xyzzy');
CREATE TABLE customers (id int PRIMARY KEY, name text, iban text);
INSERT INTO customers SELECT i, 'C' || i, 'DE0212030000' || i FROM generate_series(1, 50) i;
CREATE INDEX customers_iban ON customers (iban);
CREATE TABLE orders (id int PRIMARY KEY, note text);
INSERT INTO orders SELECT i, 'note ' || i FROM generate_series(1, 400) i;
CREATE SCHEMA hr;
CREATE TABLE hr.pay (id int, amount int);
INSERT INTO hr.pay VALUES (1, 987654);
CREATE TABLE places (id int PRIMARY KEY, name text, hideout text);
CREATE FUNCTION leak() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT word FROM public.staff_salaries';
CREATE FUNCTION leak_of(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT EXISTS (SELECT FROM public.staff_salaries)';
CREATE OPERATOR <<<< (LEFTARG = int, RIGHTARG = int, FUNCTION = leak_of);
CREATE DOMAIN leaking AS int CHECK (public.leak() IS NOT NULL);
CREATE VIEW over_salaries AS SELECT amount FROM staff_salaries;
"""
WITH: Final = {
    "pg_trgm": "CREATE INDEX by_trgm ON customers USING gin (iban gin_trgm_ops);",
    "hstore": "ALTER TABLE staff_salaries ADD h hstore DEFAULT 'hidden=>1'; "
    "ALTER TABLE orders ADD h hstore DEFAULT 'a=>1';",
    "ltree": "ALTER TABLE staff_salaries ADD l ltree DEFAULT 'top.secret'; "
    "ALTER TABLE orders ADD l ltree DEFAULT 'a.b';",
    "postgis": """ALTER TABLE places DROP hideout; ALTER TABLE places ADD hideout geometry(Point, 4326);
        ALTER TABLE places ADD spot geometry(Point, 4326);
        INSERT INTO places SELECT i, 'p' || i, ST_SetSRID(ST_MakePoint(13.3776, 52.5162), 4326),
        ST_SetSRID(ST_MakePoint(1, 2), 4326)
        FROM generate_series(1, 100) i; CREATE INDEX by_hideout ON places USING gist (hideout);
        ALTER TABLE staff_salaries ADD geom geometry(Point, 4326) DEFAULT
        ST_SetSRID(ST_MakePoint(13.3776, 52.5162), 4326);
        ANALYZE;""",
    "vector": "ALTER TABLE staff_salaries ADD embedding vector(2) DEFAULT '[13.377,52.516]';",
    "postgis_raster": """CREATE TABLE hr.rasters (id int, rast raster); INSERT INTO hr.rasters VALUES (1, ST_AddBand(
        ST_MakeEmptyRaster(1, 1, 13.3776, 52.5162, 1), '64BF'::text, 987654, 0));""",
    "postgis_topology": "SELECT topology.CreateTopology('hr_topology', 4326);",
    "file_fdw": """CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
        CREATE FOREIGN TABLE passwords (line text) SERVER files
        OPTIONS (filename '/etc/passwd');""",
    "postgres_fdw": """CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'postgres');
        CREATE FOREIGN TABLE far_orders (id int) SERVER far;""",
}
EVERY: Final = (
    "btree_gin",
    "btree_gist",
    "citext",
    "cube",
    "earthdistance",
    "fuzzystrmatch",
    "hstore",
    "intarray",
    "isn",
    "ltree",
    "pg_trgm",
    "pgcrypto",
    "postgis",
    "postgis_raster",
    "postgis_topology",
    "seg",
    "tsm_system_rows",
    "tsm_system_time",
    "unaccent",
    "uuid-ossp",
    "tablefunc",
    "dblink",
    "postgres_fdw",
    "file_fdw",
    "adminpack",
    "pageinspect",
    "pg_stat_statements",
    "pg_buffercache",
    "pg_freespacemap",
    "pg_visibility",
    "pg_walinspect",
    "pgrowlocks",
    "pgstattuple",
    "xml2",
    "lo",
    "amcheck",
    "sslinfo",
    "vector",
)

HAND: Final = (
    # `{0}` is the name of something closed, or one that nothing has; `{1}` one of a column.
    "SELECT ST_Value(ST_MapAlgebra(ST_AddBand(ST_MakeEmptyRaster(1,1,0,0,1),'64BF'::text,1,0),1,'64BF'::text,"
    "'(SELECT amount FROM {0} WHERE id=1)'),1,1,1)",
    "SELECT ST_MapAlgebraExpr(ST_MakeEmptyRaster(1,1,0,0,1),1,NULL,'(SELECT amount FROM {0})')",
    "SELECT ST_EstimatedExtent('public','{0}','geom')",
    "SELECT ST_EstimatedExtent('places','{1}')",
    "SELECT _postgis_index_extent('places','{1}')",
    "SELECT _postgis_selectivity('places','{1}','POINT(13 52)'::geometry)",
    "SELECT _postgis_stats('places','{1}')",
    "SELECT ST_FindExtent('places','{1}')",
    "SELECT Find_SRID('public','{0}','geom')",
    "SELECT ST_ValueCount('{0}','rast')",
    "SELECT ST_SummaryStats('{0}','rast')",
    "SELECT ST_Count('{0}','rast')",
    "SELECT ST_Histogram('{0}','rast')",
    "SELECT postgis_constraint_srid('public','{0}','geom')",
    "SELECT topology.TopologySummary('{0}')",
    "SELECT topology.ValidateTopology('{0}')",
    "SELECT topology.GetTopologyID('{0}')",
    "SELECT * FROM topology.topology WHERE name = '{0}'",
    "SELECT * FROM geometry_columns WHERE f_table_name = '{0}'",
    "SELECT * FROM geography_columns WHERE f_table_name = '{0}'",
    "SELECT * FROM raster_columns WHERE r_table_name = '{0}'",
    "SELECT ST_AsMVT(q) FROM (SELECT * FROM {0}) q",
    "SELECT ST_AsGeoJSON(p.*) FROM places p",
    "SELECT ST_AsGeoJSON(s) FROM {0} s",
    "SELECT ST_AsText({1}) FROM places",
    "SELECT ST_Extent({1}) FROM places",
    "SELECT name FROM places WHERE {1} && ST_MakeEnvelope(13,52,14,53,4326)",
    "SELECT name FROM places ORDER BY {1} <-> ST_MakePoint(0,0) LIMIT 1",
    "SELECT ST_FromGDALRaster('\\x00'::bytea)",
    "SELECT ST_BandPath(ST_MakeEmptyRaster(1,1,0,0,1))",
    "SELECT similarity({1}, 'x') FROM places",
    "SELECT name FROM customers WHERE {1} % 'DE02'",
    "SELECT word_similarity((SELECT word FROM {0}), 'xyzzy')",
    "SELECT hstore(s) FROM {0} s",
    "SELECT hstore(p) FROM places p",
    "SELECT each(hstore(p)) FROM places p",
    "SELECT hstore(c) -> '{1}' FROM customers c",
    "SELECT c #= 'name=>x' FROM customers c",
    "SELECT populate_record(NULL::{0}, 'amount=>1')",
    "SELECT (populate_record(NULL::customers, 'id=>1')).*",
    "SELECT NULL::{0} #= 'a=>1'",
    "SELECT l FROM {0}",
    "SELECT lca(array_agg(l)) FROM {0}",
    "SELECT * FROM crosstab('SELECT id, amount, word FROM {0}') AS t(a int, b text)",
    "SELECT * FROM connectby('{0}', 'id', 'amount', '1', 0) AS t(a int, b int, c int)",
    "SELECT * FROM crosstab2('SELECT id::text, word, word FROM {0}')",
    "SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS t(a int)",
    "SELECT dblink_connect('x', 'host=/tmp')",
    "SELECT dblink_exec('', 'DELETE FROM orders')",
    "SELECT dblink_get_pkey('{0}')",
    "SELECT dblink_build_sql_insert('{0}', '1', 1, ARRAY['1'], ARRAY['1'])",
    "SELECT postgres_fdw_get_connections()",
    "SELECT postgres_fdw_disconnect_all()",
    "SELECT * FROM far_orders",
    "SELECT * FROM passwords",
    "SELECT pg_file_write('x', 'y', false)",
    "SELECT pg_file_read('postgresql.conf', 0, 10)",
    "SELECT pg_logdir_ls()",
    "SELECT get_raw_page('{0}', 0)",
    "SELECT heap_page_items(get_raw_page('{0}', 0))",
    "SELECT bt_metap('customers_{1}')",
    "SELECT bt_page_items('customers_{1}', 1)",
    "SELECT * FROM pg_stat_statements",
    "SELECT * FROM pg_stat_statements(true)",
    "SELECT * FROM pg_stat_statements_info",
    "SELECT pg_stat_statements_reset()",
    "SELECT pgstattuple('{0}')",
    "SELECT pg_relpages('{0}')",
    "SELECT * FROM pgrowlocks('{0}')",
    "SELECT pg_visibility('{0}')",
    "SELECT pg_freespace('{0}')",
    "SELECT bt_index_check('customers_{1}')",
    "SELECT xpath_table('id', 'word', '{0}', '/x', 'true')",
    "SELECT xslt_process('<a/>', '<b/>')",
    "SELECT lo_export(1, '/tmp/x')",
    "SELECT lo_oid(1::lo)",
    "SELECT digest((SELECT word FROM {0}), 'md5')",
    "SELECT crypt({1}, 'ab') FROM customers",
    "SELECT pgp_sym_encrypt({1}, 'x') FROM customers",
    "SELECT cube(array_agg(amount::float8)) FROM {0}",
    "SELECT idx(array_agg(amount), 1) FROM {0}",
    "SELECT sort(array_agg(amount)) FROM {0}",
    "SELECT amount::text::citext FROM {0}",
    "SELECT {1}::citext FROM customers",
    "SELECT levenshtein({1}, 'DE') FROM customers",
    "SELECT soundex(word) FROM {0}",
    "SELECT unaccent(word) FROM {0}",
    "SELECT unaccent('{0}'::regdictionary, 'a')",
    "SELECT uuid_generate_v5(uuid_ns_dns(), word) FROM {0}",
    "SELECT * FROM {0} TABLESAMPLE system_rows(10)",
    "SELECT {1} FROM customers TABLESAMPLE system_time(10)",
    "SELECT min({1}) OVER (PARTITION BY id) FROM customers",
    "SELECT name FROM customers GROUP BY name, {1}",
    "SELECT array_agg(c) FROM customers c",
    "SELECT c::text FROM customers c",
    "SELECT json_agg(c) FROM customers c",
    "SELECT xmlforest(c.{1}) FROM customers c",
    "SELECT * FROM json_populate_record(NULL::customers, '{{}}')",
    "SELECT tableoid FROM customers",
    "SELECT ctid, name FROM customers",
    "SELECT EXISTS (SELECT FROM customers WHERE {1} = 'DE02120300001')",
    "SELECT 1 FROM customers HAVING count({1}) > 1",
    "EXPLAIN SELECT name FROM customers WHERE {1} = 'x'",
    "EXPLAIN (VERBOSE) SELECT * FROM {0}",
    "EXPLAIN SELECT name FROM customers WHERE {1} LIKE 'DE%'",
    "SELECT 1 <<<< 2 FROM {0}",
    "SELECT 1::leaking",
    "SELECT leak()",
    "SELECT * FROM over_salaries",
    "SELECT CASE WHEN {1} > 'A' THEN 1/0 END FROM customers",
    "SELECT {1}::int FROM customers",
    "SELECT (SELECT word FROM {0})::int",
    "SELECT ('{0}' || '')::regclass",
    "SELECT to_tsvector((SELECT word FROM {0}))",
    "SELECT ts_stat('SELECT to_tsvector(word) FROM {0}')",
    "SELECT query_to_xml('SELECT * FROM {0}', true, true, '')",
    "SELECT most_common_vals FROM pg_stats WHERE tablename = '{0}'",
    "SELECT * FROM pg_stats_ext",
    "SELECT stxdmcv FROM pg_statistic_ext_data",
    "SELECT * FROM pg_publication_tables",
    "SELECT pg_logical_slot_peek_changes('x', NULL, NULL)",
    "SELECT pg_create_logical_replication_slot('x', 'test_decoding')",
    "SELECT * FROM information_schema.columns WHERE table_name = '{0}'",
    "SELECT * FROM information_schema.column_privileges WHERE column_name = '{1}'",
    "SELECT * FROM information_schema.key_column_usage WHERE column_name = '{1}'",
    "SELECT * FROM hr.pay",
    "SELECT hr.pay FROM orders",
    "SELECT NULL::hr.pay",
    "SELECT * FROM hr_topology.node",
    "SELECT embedding FROM {0}",
    "SELECT l2_distance((SELECT embedding FROM {0} LIMIT 1), '[1,2]')",
    "SELECT avg(embedding) FROM {0}",
    "SELECT id FROM {0} ORDER BY embedding <-> '[1,2]' LIMIT 1",
    "SELECT '[1,2]'::vector <=> (SELECT embedding FROM {0} LIMIT 1)",
)

BENIGN: Final = (
    "SELECT ST_AsText(spot), ST_X(spot), ST_Distance(spot, ST_SetSRID(ST_MakePoint(0, 0), 4326)) FROM places LIMIT 1",
    "SELECT ST_AsGeoJSON(ST_Transform(spot, 3857)) FROM places LIMIT 1",
    "SELECT name FROM places WHERE spot && ST_MakeEnvelope(0, 0, 3, 3, 4326) "
    "ORDER BY spot <-> ST_SetSRID(ST_Point(0, 0), 4326)",
    "SELECT ST_Value(ST_AddBand(ST_MakeEmptyRaster(1, 1, 0, 0, 1), '8BUI'::text, 7, 0), 1, 1, 1)",
    "SELECT similarity(name, 'C1'), name % 'C1', word_similarity('a', name) FROM customers LIMIT 1",
    "SELECT h -> 'a', akeys(h), hstore_to_json(h), h ? 'a' FROM orders LIMIT 1",
    "SELECT l, nlevel(l), subpath(l, 0, 1), l <@ 'a' FROM orders LIMIT 1",
    "SELECT digest('a', 'sha256'), crypt('a', gen_salt('md5')) IS NOT NULL, gen_random_uuid() IS NOT NULL",
    "SELECT levenshtein('a', 'b'), soundex('a'), unaccent('é'), 'A'::citext = 'a', uuid_generate_v4() IS NOT NULL",
    "SELECT cube(1, 2), cube_distance('1'::cube, '2'::cube), earth_distance(ll_to_earth(1, 2), ll_to_earth(2, 3))",
    "SELECT sort(ARRAY[2, 1]), ARRAY[1, 2] & ARRAY[2], isbn('978-0-393-04002-9')",
    "SELECT count(*) FROM orders TABLESAMPLE system_rows(10)",
)
BENIGN_VECTOR: Final = (
    "SELECT '[1,2]'::vector <-> '[2,3]', l2_distance('[1,2]'::vector, '[2,3]'), vector_dims('[1]'::vector)",
)

_VALUES: Final = {
    "integer": "1",
    "bigint": "1",
    "smallint": "1::smallint",
    "double precision": "1.0::float8",
    "real": "1.0::real",
    "numeric": "1.0",
    "boolean": "true",
    "geometry": "'POINT(1 2)'::geometry",
    "geography": "'POINT(1 2)'::geography",
    "raster": "ST_AddBand(ST_MakeEmptyRaster(1, 1, 0, 0, 1), '64BF'::text, 1, 0)",
    "bytea": "'\\x00'::bytea",
    "text[]": "ARRAY[{0}]",
    "integer[]": "ARRAY[1]",
    "double precision[]": "ARRAY[1.0]::float8[]",
    "hstore": "'a=>1'::hstore",
    "ltree": "'a'::ltree",
    "json": "'{{}}'::json",
    "jsonb": "'{{}}'::jsonb",
    "anyelement": "1",
    "anyarray": "ARRAY[1]",
    "record": "(SELECT c FROM customers c LIMIT 1)",
    "regclass": "'{1}'",
    "regprocedure": "'leak()'",
    "oid": "'{1}'::regclass",
    "date": "current_date",
    "timestamp with time zone": "now()",
    "interval": "interval '1 s'",
    "xml": "'<a/>'::xml",
}
_FUNCTIONS: Final = """
SELECT DISTINCT quote_ident(n.nspname) || '.' || quote_ident(p.proname), p.proretset, p.prokind::text,
    ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.pronargs <= 7 AND p.prokind IN ('f', 'a') AND NOT (p.proargtypes || p.prorettype) && ARRAY[2281, 2275]::oid[]
    AND p.proname NOT LIKE 'pg_terminate%' ORDER BY 1
"""


class ExtendedShop:
    """On a server that is reached by this URL of a superuser, to its default database."""

    def __init__(self, server: str) -> None:
        name = f"ext{secrets.token_hex(4)}"
        self._server = server
        self._name = name
        self.admin = server.replace("/postgres?", f"/{name}?")
        self.url = self.admin.replace("//postgres:@", f"//{name}_asks:reads@")
        self.rule: Final = CLOSED
        self.extensions: Sequence[str] = ()

    async def make(self) -> None:
        await self.outside(self._server, f"CREATE DATABASE {self._name}")
        available = {row[0] for row in await self.outside(self.admin, "SELECT name FROM pg_available_extensions")}
        self.extensions = [name for name in EVERY if name in available]
        await self.outside(self.admin, *(f'CREATE EXTENSION IF NOT EXISTS "{name}"' for name in self.extensions))
        connection = await asyncpg.connect(self.admin)
        try:
            await connection.execute(BASE)
            for name in self.extensions:
                await connection.execute(WITH.get(name, "SELECT 1"))
            if "postgis_topology" in self.extensions:
                await connection.execute("REVOKE ALL ON ALL TABLES IN SCHEMA hr_topology FROM PUBLIC")
        finally:
            await connection.close()
        await PostgresEngine(self.url, self.rule).role_script(self.admin, apply=True)

    async def outside(self, url: str, *statements: str) -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            rows: list[Any] = []
            for statement in statements:
                rows = await connection.fetch(statement)
            return rows
        finally:
            await connection.close()

    async def state(self) -> list[tuple[Any, ...]]:
        found = await self.outside(
            self.admin,
            "SELECT (SELECT md5(string_agg(o::text, '' ORDER BY id)) FROM orders o), (SELECT count(*) FROM pg_class), "
            "(SELECT count(*) FROM pg_proc), (SELECT string_agg(rolname || rolsuper, ',' ORDER BY 1) FROM pg_roles), "
            "(SELECT count(*) FROM pg_largeobject_metadata), (SELECT count(*) FROM pg_replication_slots), "
            "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), (SELECT count(*) FROM spatial_ref_sys)"
            if "postgis" in self.extensions
            else "SELECT md5(string_agg(o::text, '' ORDER BY id)) FROM orders o",
        )
        return [tuple(row) for row in found]

    async def calls(self) -> list[str]:
        """Every function of the server and of its extensions, with arguments that may lead to what is closed."""
        statements = []
        for name, is_set, _, kinds in await self.outside(self.admin, _FUNCTIONS):
            for text in ("'{0}'", "'SELECT amount FROM {0}'", "'public'"):
                values = [
                    _VALUES.get(kind, text if kind in ("text", "name", "character varying") else "NULL")
                    for kind in kinds
                ]
                if text != "'{0}'" and text not in values:
                    continue
                call = f"{name}({', '.join(value.replace('{{}}', '[[]]') for value in values)})"
                statements.append(f"SELECT * FROM {call} LIMIT 3" if is_set else f"SELECT {call}")
        return [each.replace("[[]]", "{{}}").replace("{1}", "{0}") for each in statements]

    async def leaks(self, statements: Sequence[str], *, by_kind: bool = False) -> list[tuple[str, str]]:
        """Statements whose answers show something closed, or that it exists, or that end the server; `by_kind` where
        an answer holds what was asked, turned into something else."""
        engine = PostgresEngine(self.url, self.rule)
        found: list[tuple[str, str]] = []
        try:
            for text in statements:
                column, absent = ("iban", "ibbn") if "customers" in text else ("hideout", "hodeout")
                there = await engine.run(text.format("staff_salaries", column), (), LIMITS)
                if any(canary in repr(there) for canary in CANARIES if canary not in text) or _is_away(there):
                    found.append((text, repr(there)))
                if "{0}" not in text and "{1}" not in text:
                    continue
                nowhere = await engine.run(text.format("staff_solaries", absent), (), LIMITS)
                same = _plain(there).replace("staff_salaries", "staff_solaries").replace(column, absent)
                if type(there) is not type(nowhere) if by_kind else same != _plain(nowhere):
                    found.append((text, f"{there} and not {nowhere}"))
        finally:
            await engine.aclose()
        return found


def _is_away(answer: QueryAnswer) -> bool:
    """The statement ended the server."""
    return isinstance(answer, StatementFailure) and answer.fault is StatementFault.UNAVAILABLE


def _plain(answer: QueryAnswer) -> str:
    return repr(replace(answer, seconds=0.0) if isinstance(answer, QueryRows) else answer)
