"""Whatever is wrong with a database, one kind of error says what, where and what to do, and tells no password."""

import os
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import anyio
import pytest
from tests.store.engines import Engine, Postgres, Sqlite, now
from tests.store.processes import ENVIRONMENT, ROOT
from tests.store.saver import version

from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.ports.stores import SavedVersion
from pegboard.store.database import StoreError, mask_passwords
from pegboard.store.open import open_store

pytestmark = pytest.mark.anyio


async def refusal(url: str) -> str:
    with pytest.raises(StoreError) as raised:
        async with open_store(url, clock=now, patience=5):
            pytest.fail("it was opened")
    return str(raised.value)


async def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "pegboard.db"
    path.write_bytes(b"these are my notes, not a database\n" * 100)
    said = await refusal(f"sqlite:///{path}")
    assert said == (
        f"sqlite:///{path} is not a readable SQLite database: file is not a database. Restore it from a backup, or "
        f"move the file away: Pegboard then starts a new one."
    )
    assert path.read_bytes() == b"these are my notes, not a database\n" * 100


async def test_a_damaged_database_says_so_when_it_is_read(tmp_path: Path) -> None:
    engine = Sqlite(tmp_path / "pegboard.db")
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.save(
            PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now()
        ) == SavedVersion(1)
    page = 4096
    body = engine.path.read_bytes()
    engine.path.write_bytes(body[:page] + b"\xff" * (len(body) - page))
    assert "is not a readable SQLite database: database disk image is malformed" in await refusal(engine.url)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("file/pegboard.db", "cannot be opened: Not a directory"),
        ("folder", "cannot be opened: Is a directory"),
        ("x" * 300, "cannot be opened: File name too long"),
    ],
)
async def test_a_place_that_cannot_hold_a_file_is_named(tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    said = await refusal(f"sqlite:///{tmp_path}/{path}")
    assert said.startswith(f"sqlite:///{tmp_path}/{path} {why}. Check that this user may write")


@contextmanager
def as_another_user() -> Iterator[None]:
    """Permissions do not bind root, so root becomes nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user may look into, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def test_a_directory_that_may_not_be_written_is_named(public_folder: Path) -> None:
    os.chmod(public_folder, 0o555)
    url = f"sqlite:///{public_folder}/pegboard.db"
    with as_another_user():
        said = await refusal(url)
    assert said.startswith(f"{url} cannot be opened: Permission denied. Check that this user may write")


async def test_a_file_that_may_only_be_read_is_named(public_folder: Path) -> None:
    engine = Sqlite(public_folder / "pegboard.db")
    async with open_store(engine.url, clock=now):
        pass
    os.chmod(engine.path, 0o444)
    with as_another_user():
        said = await refusal(engine.url)
    assert said.startswith(f"{engine.url} cannot be opened: Permission denied. Check that this user may write")


FILL = """
import anyio, resource, sys
from datetime import UTC, datetime
from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.store.database import StoreError
from pegboard.store.open import open_store
from tests.store.engines import now
from tests.store.saver import version

async def main():
    async with open_store(sys.argv[1], clock=now) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        before = PolicyDecisions()
        while True:
            after = version(before.version + 1)
            try:
                await store.policy.save(before, after, by=LOCAL_PRINCIPAL, what="x" * 10_000, at=now())
            except StoreError as error:
                assert await store.policy.load() == before
                print(before.version, error)
                return
            before = after

anyio.run(main)
"""


async def test_a_disk_that_takes_no_more_is_told_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    engine = Sqlite(tmp_path / "pegboard.db")
    with anyio.fail_after(60):
        done = await anyio.run_process([sys.executable, "-c", FILL, engine.url], cwd=ROOT, env=ENVIRONMENT, stderr=None)
    last, _, said = done.stdout.decode().strip().partition(" ")
    assert said.startswith(f"{engine.url} could not be written: ")
    assert said.endswith("Free some space on its disk and look for disk errors.")
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == version(int(last))


async def test_a_database_held_by_another_is_waited_for_and_then_told(tmp_path: Path) -> None:
    engine = Sqlite(tmp_path / "pegboard.db")
    async with open_store(engine.url, clock=now, patience=0.05) as store:
        holder = sqlite3.connect(engine.path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"is held by another process: database is locked\. Find out which"):
            await store.policy.save(PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now())
        assert await store.policy.load() == PolicyDecisions()
        holder.close()
        assert await store.policy.save(
            PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now()
        ) == SavedVersion(1)


@pytest.mark.behaviour("store.sqlite_by_default")
async def test_a_new_file_has_a_write_ahead_log_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    engine = Sqlite(tmp_path / "new" / "place" / "pegboard.db")
    async with open_store(engine.url, clock=now) as store:
        await store.policy.save(PolicyDecisions(), version(1), by=LOCAL_PRINCIPAL, what="test", at=now())
        modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in engine.path.parent.iterdir()}
        assert await engine.run("PRAGMA journal_mode") == [("wal",)]
    assert modes == {"pegboard.db": "0o600", "pegboard.db-wal": "0o600", "pegboard.db-shm": "0o600"}
    assert stat.S_IMODE(engine.path.parent.stat().st_mode) == 0o700


@pytest.mark.behaviour("config.store_url")
@pytest.mark.parametrize("name", ["plain.db", "with space.db", "what?.db", "50%.db", "a#b.db", "ünï.db", "a~b@c:d.db"])
async def test_any_file_name_is_taken_as_it_stands(tmp_path: Path, name: str) -> None:
    async with open_store(f"sqlite:///{tmp_path}/{name}", clock=now) as store:
        assert await store.policy.load() == PolicyDecisions()
    assert os.listdir(tmp_path) == [name]


async def test_a_relative_path_and_the_home_folder_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for url in ("sqlite:///here.db", "sqlite+aiosqlite:///here.db", "sqlite:///~/mine.db"):
        async with open_store(url, clock=now):
            pass
    assert {*glob("**/*.db", root_dir=tmp_path, recursive=True)} == {"here.db", os.path.join("home", "mine.db")}


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://relative.db"])
async def test_a_sqlite_url_without_a_file_is_refused(url: str) -> None:
    assert await refusal(url) == (
        f"{url!r} names no file, and decisions must outlive the process. Write sqlite:///relative/path.db or "
        f"sqlite:////absolute/path.db."
    )


@pytest.mark.behaviour("config.store_url")
@pytest.mark.parametrize("url", ["mysql://u:s3cret@h/db", "pegboard.db", "", "postgresql+psycopg://u:s3cret@h/db"])
async def test_an_unknown_url_is_refused_with_those_that_are_known(url: str) -> None:
    assert await refusal(url) == (
        f"{mask_passwords(url)!r} is not a store that Pegboard knows. Write sqlite:///path/to/pegboard.db or "
        f"postgresql://USER:PASSWORD@HOST/DATABASE."
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@db.example/pegboard",
        "postgresql://ann:s3cret/s3cret@db.example/pegboard",
        "postgresql://ann:s3cret@s3cret:s3cret@db.example:5432/pegboard?x=1",
        "postgresql://ann:s3cret?s3cret#s3cret@db.example/pegboard",
        "postgresql://ann:s3\ncret@db.example/pegboard",
        "postgresql://db.example/pegboard?user=ann&password=s3cret&sslmode=require",
        "postgresql:///pegboard?sslpassword=s3cret",
        "postgresql:///pegboard?p%61ssword=s3cret&sslmode=require",
        "postgresql:///pegboard?password=s3&cret&sslmode=require",
        "postgresql://an/n:s3cret@db.example/pegboard",
        "postgresql://ann:s3cret://s3cret@db.example/pegboard",
        "postgresql://:s3cret@db.example/pegboard",
        "postgresql:/ann:s3cret@db.example/pegboard",
        "ann:s3cret@db.example/pegboard",
        "ann:s3cret://s3cret@db.example/pegboard",
        "host=db.example dbname=pegboard user=ann password=s3cret",
        "dbname=pegboard password = 's3cret and s3cret'",
        "dbname=pegboard PASSWORD=s3cret@s3cret",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    assert "cret" not in mask_passwords(url)
    assert "pegboard" in mask_passwords(url)


def test_a_url_without_a_password_is_shown_as_it_is() -> None:
    for url in ("postgresql://ann@db.example:5432/pegboard?sslmode=require", "postgresql:///pegboard?host=/run"):
        assert mask_passwords(url) == url


async def test_a_postgresql_server_that_does_not_answer_is_named_without_the_password() -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    await listener.aclose()
    said = await refusal(f"postgresql://ann:s3cret@127.0.0.1:{port}/pegboard")
    assert said.startswith(f"postgresql://ann:***@127.0.0.1:{port}/pegboard cannot be reached: ")
    assert said.endswith("Check host, port and network, and that PostgreSQL is running.")
    assert "s3cret" not in said


async def test_a_postgresql_server_that_accepts_and_says_nothing_is_given_up() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with anyio.fail_after(60), pytest.raises(StoreError, match="cannot be reached: TimeoutError"):
            async with open_store(f"postgresql://ann@127.0.0.1:{port}/pegboard", clock=now, patience=0.2):
                pytest.fail("it was opened")


@pytest.mark.parametrize("url", ["postgresql://ann:s3c@ret:s3cret@h/db", "postgresql://ann:s3cret@[h/db"])
async def test_a_postgresql_url_that_cannot_be_read_says_how_to_write_it(url: str) -> None:
    said = await refusal(url)
    assert "is not a PostgreSQL URL. Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and percent-encode" in said
    assert "ret" not in said


async def test_without_the_driver_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    assert await refusal("postgresql://ann:s3cret@h/db") == (
        "postgresql://ann:***@h/db needs the PostgreSQL driver, which is not installed. "
        "Run: pip install 'pegboard[postgres]'"
    )


@pytest.mark.slow
async def test_a_database_that_does_not_exist_says_how_to_make_it(postgres: Postgres) -> None:
    said = await refusal(postgres.url.replace(postgres.name, "nowhere"))
    assert 'names a database that does not exist: database "nowhere" does not exist. Create it with createdb' in said


@pytest.mark.slow
async def test_a_wrong_password_and_too_few_rights_are_told(postgres: Postgres) -> None:
    role = f"r{postgres.name}"
    await postgres.outside(f"CREATE ROLE {role} LOGIN PASSWORD 's3cret'")
    ((folder,),) = await postgres.outside("SHOW data_directory")
    rules = anyio.Path(folder, "pg_hba.conf")
    trusting = await rules.read_text()
    await rules.write_text(f"local all {role} scram-sha-256\n{trusting}")
    try:
        await postgres.outside("SELECT pg_reload_conf()")
        wrong = postgres.url.replace("postgres:@", f"{role}:wr0ng@")
        with anyio.fail_after(30):
            while "does not let us in" not in (said := await refusal(wrong)):
                await anyio.lowlevel.checkpoint()
        right = await refusal(wrong.replace("wr0ng", "s3cret"))
    finally:
        await rules.write_text(trusting)
        await postgres.outside("SELECT pg_reload_conf()")
        await postgres.outside(f"DROP ROLE {role}")
    assert said == (
        f'{mask_passwords(wrong)} does not let us in: password authentication failed for user "{role}". '
        f"Check the user, the password and pg_hba.conf."
    )
    assert "does not allow this user enough: permission denied for schema public. Grant it CREATE and USAGE" in right


@pytest.mark.slow
@pytest.mark.behaviour("store.postgresql_by_url", "config.store_url")
async def test_a_postgresql_url_works_as_people_write_it(postgres: Postgres) -> None:
    longer = f"{postgres.url}&sslmode=disable&connect_timeout=5&application_name=pegboard&channel_binding=prefer"
    for url in (
        postgres.url,
        longer,
        postgres.url.replace("postgresql://", "postgres://"),
        postgres.url.replace("postgresql://", "postgresql+asyncpg://"),
    ):
        async with open_store(url, clock=now) as store:
            assert await store.policy.load() == PolicyDecisions()


async def test_an_outage_is_told_while_it_lasts_and_forgotten_afterwards(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        if isinstance(engine, Postgres):
            await engine.outside(f"ALTER DATABASE {engine.name} ALLOW_CONNECTIONS false")
            ends = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{engine.name}'"
            await engine.outside(ends)
        else:
            await engine.run("ALTER TABLE switches RENAME TO elsewhere")
        with pytest.raises(StoreError):
            await store.policy.load()
        if isinstance(engine, Postgres):
            await engine.outside(f"ALTER DATABASE {engine.name} ALLOW_CONNECTIONS true")
        else:
            await engine.run("ALTER TABLE elsewhere RENAME TO switches")
        assert await store.policy.load() == PolicyDecisions()
