"""The shop in a real MariaDB: tables to ask, tables that are closed, and whatever may lead from the one to the
other."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from pegboard.core.model.databases import DatabaseAccess, NamePattern, parse_name_pattern
from pegboard.providers.database.mysql.engine import MysqlEngine

SHOP = """
CREATE TABLE customers (id int PRIMARY KEY, name varchar(50) NOT NULL, city varchar(50) COMMENT 'Where they live')
COMMENT 'Who buys';
CREATE TABLE orders (id int PRIMARY KEY, customer_id int, total decimal(10,2), note varchar(100), made_on date,
    FOREIGN KEY (customer_id) REFERENCES customers (id));
CREATE VIEW order_totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id;
CREATE TABLE kinds (id int PRIMARY KEY, doc json, seen datetime, raw blob, big bigint unsigned, f double, bits
bit(8), t time,
    e enum('a', 'b'), y year);
INSERT INTO customers SELECT seq, concat('C', seq), IF(seq % 2 = 0, 'Bonn', 'Köln') FROM seq_1_to_50;
INSERT INTO orders SELECT seq, 1 + seq % 50, seq * 1.5, concat('note ', seq), date '2026-01-01' + INTERVAL seq % 300
DAY FROM seq_1_to_400;
INSERT INTO kinds VALUES (1, '{"a": [1, null]}', '2026-03-04 05:06:07', x'deadbeef', 18446744073709551615, 0.5,
b'101', '25:00:01',
    'b', 2026);
CREATE TABLE secret (id int PRIMARY KEY, word varchar(50));
INSERT INTO secret VALUES (1, 'xyzzy'), (2, 'plugh');
CREATE TABLE people (id int PRIMARY KEY, name varchar(50), ssn varchar(20), city varchar(50), KEY people_ssn (ssn));
INSERT INTO people VALUES (1, 'Ann', '123-45-6789', 'Bonn'), (2, 'Bob', '987-65-4321', 'Köln');
CREATE VIEW secret_view AS SELECT word FROM secret;
CREATE VIEW secret_far AS SELECT upper(word) AS w FROM secret_view;
CREATE VIEW people_ssns AS SELECT name, ssn AS number FROM people;
CREATE VIEW people_fine AS SELECT name, city FROM people;
CREATE FUNCTION peek() RETURNS varchar(50) READS SQL DATA RETURN (SELECT max(word) FROM secret);
CREATE FUNCTION wipe_all() RETURNS int MODIFIES SQL DATA SQL SECURITY DEFINER RETURN 1;
CREATE PROCEDURE wipe() DELETE FROM orders;
CREATE VIEW calls_peek AS SELECT peek() AS word;
CREATE SEQUENCE counter
"""

STATE = (
    "SELECT md5(group_concat(id, customer_id, total, note ORDER BY id)) FROM {0}.orders",
    "SELECT count(*) FROM {0}.customers",
    "SELECT md5(group_concat(word ORDER BY id)) FROM {0}.secret",
    "SELECT next_not_cached_value FROM {0}.counter",
    "SELECT group_concat(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = '{0}'",
    "SELECT group_concat(routine_name ORDER BY 1) FROM information_schema.routines WHERE routine_schema = '{0}'",
    "SELECT count(*) FROM information_schema.innodb_trx",
    "SELECT @@global.general_log, @@global.read_only, @@global.max_connections",
)
CONNECTED = """
SELECT ID FROM information_schema.PROCESSLIST
WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Daemon' AND USER <> 'system user'
"""
PATIENCE = 10.0


def access(*deny: str, allow: tuple[str, ...] = ()) -> DatabaseAccess:
    patterns = [[parse_name_pattern(text) for text in texts] for texts in (allow, deny)]
    allowed, denied = [tuple(each for each in found if isinstance(each, NamePattern)) for found in patterns]
    assert (len(allowed), len(denied)) == (len(allow), len(deny))
    return DatabaseAccess(allowed, denied)


@dataclass(frozen=True)
class Shop:
    socket: Path
    name: str
    reader: str

    def outside(self, *statements: str) -> list[Any]:
        """What the last answers, asked by root."""
        connection = pymysql.connect(unix_socket=str(self.socket), user="root", database=self.name, autocommit=True)
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            connection.close()

    @property
    def root(self) -> str:
        return f"mysql://root@localhost/?unix_socket={self.socket}"

    async def login(self, access: DatabaseAccess, *, writes: bool = False) -> str:
        """The URL of a login that may read exactly what is open, as Pegboard makes it."""
        url = self.reader.replace("_reader:", "_narrow:")
        await MysqlEngine(url, access, writes=writes).role_script(self.root, apply=True)
        return url

    def state(self) -> tuple[Any, ...]:
        """Everything that a statement could have changed."""
        widened = "SET SESSION group_concat_max_len = 10000000"
        found = tuple(self.outside(widened, question.format(self.name))[0] for question in STATE)
        return (*found, self.others())

    def others(self) -> set[int]:
        """Connections but this one. A server takes its time to let go of one that was cut."""
        until = time.monotonic() + PATIENCE
        while (found := {int(row[0]) for row in self.outside(CONNECTED)}) and time.monotonic() < until:
            pass
        return found


def make_shop(socket: Path, name: str) -> Shop:
    connection = pymysql.connect(unix_socket=str(socket), user="root", autocommit=True)
    try:
        with connection.cursor() as cursor:
            for line in (
                f"CREATE DATABASE {name} CHARACTER SET utf8mb4",
                f"USE {name}",
                *SHOP.split(";\n"),
                f"CREATE USER '{name}_reader'@'localhost' IDENTIFIED BY 'reads'",
                f"GRANT SELECT, SHOW VIEW ON {name}.* TO '{name}_reader'@'localhost'",
            ):
                cursor.execute(line)
    finally:
        connection.close()
    return Shop(socket, name, f"mysql://{name}_reader:reads@localhost/{name}?unix_socket={socket}")
