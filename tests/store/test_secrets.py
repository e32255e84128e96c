"""Secrets at rest: encrypted, each bound to its name, unreadable with another key, and the key for one user alone."""

import base64
import os
import stat
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.store.engines import Engine, now

from pegboard.ports.stores import SecretsUnavailable, UnreadableSecret
from pegboard.store.open import open_store
from pegboard.store.secrets import KEY_FILE, KEY_VARIABLE, NoKeyError, key_of

pytestmark = pytest.mark.anyio

SECRET = "tok-very-secret \x00 ü".encode()


def encoded(byte: int) -> str:
    return base64.b64encode(bytes([byte]) * 32).decode()


def _holding(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def env(byte: int) -> dict[str, str]:
    return {KEY_VARIABLE: encoded(byte)}


@pytest.mark.behaviour("store.secrets", "store.same_contract")
async def test_what_was_kept_is_read_and_what_was_forgotten_is_gone(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        assert await store.secrets.load("a") is None
        await store.secrets.save("a", b"first")
        await store.secrets.save("a", SECRET)
        await store.secrets.save("b", b"")
        assert (await store.secrets.load("a"), await store.secrets.load("b")) == (SECRET, b"")
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        assert await store.secrets.load("a") == SECRET
        await store.secrets.delete("a")
        await store.secrets.delete("never there")
        assert (await store.secrets.load("a"), await store.secrets.load("b")) == (None, b"")


@pytest.mark.behaviour("store.secrets", "secrets.tokens_unseen")
async def test_nothing_of_a_secret_is_in_the_database(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        await store.secrets.save("a", SECRET)
        await store.secrets.save("b", SECRET)
        ((first,), (second,)) = await engine.run("SELECT sealed FROM secrets ORDER BY name")
        assert first != second, "the same secret looks different each time"
        assert SECRET not in base64.b64decode(first)
    assert _holding(tmp_path, b"very-secret") == []


@pytest.mark.behaviour("store.secrets")
async def test_with_another_key_a_secret_is_unreadable_and_can_be_written_anew(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of(env(1), tmp_path)) as store:
        await store.secrets.save("a", SECRET)
    async with open_store(engine.url, clock=now, key=key_of(env(2), tmp_path)) as store:
        assert await store.secrets.load("a") == UnreadableSecret(
            f"a is kept encrypted in {store.display_url} with another key than this gateway's. Give it the key that "
            "it was "
            f"written with, or sign in again."
        )
        await store.secrets.save("a", b"new")
        assert await store.secrets.load("a") == b"new"


@pytest.mark.behaviour("store.secrets")
@pytest.mark.parametrize("tampered", ["UPDATE secrets SET sealed = 'x'", "UPDATE secrets SET name = 'b'"])
async def test_what_somebody_changed_is_unreadable(engine: Engine, tmp_path: Path, tampered: str) -> None:
    async with open_store(engine.url, clock=now, key=key_of(env(1), tmp_path)) as store:
        await store.secrets.save("a", SECRET)
        await engine.run(tampered)
        found = await store.secrets.load("b" if "name" in tampered else "a")
        assert isinstance(found, UnreadableSecret)


async def test_many_may_write_at_once(engine: Engine, tmp_path: Path) -> None:
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store, anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(store.secrets.save, "a", str(number).encode())
    async with open_store(engine.url, clock=now, key=key_of({}, tmp_path)) as store:
        found = await store.secrets.load("a")
        assert isinstance(found, bytes)
        assert int(found) in range(8)


async def test_a_store_without_a_key_keeps_no_secrets(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        with pytest.raises(SecretsUnavailable, match="was opened without a key"):
            await store.secrets.save("a", SECRET)


def test_the_key_is_made_when_it_is_needed_for_its_owner_alone(tmp_path: Path) -> None:
    key = key_of({}, tmp_path)
    with pytest.raises(NoKeyError, match=rf"{KEY_FILE}, is gone\. Put it back, or sign in again"):
        key(False)
    made = key(True)
    assert (len(made), key(False), key_of({}, tmp_path)(True)) == (32, made, made)
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600


async def test_of_two_who_make_a_key_both_have_the_first(tmp_path: Path) -> None:
    keys: list[bytes] = []

    async def make() -> None:
        keys.append(await anyio.to_thread.run_sync(key_of({}, tmp_path), True))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(make)
    assert len(set(keys)) == 1


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    key_of({}, tmp_path)(True)
    assert key_of(env(7), tmp_path)(False) == bytes([7]) * 32


@pytest.mark.parametrize("text", ["x", "ü", encoded(1)[:-8], "A" * 1000])
def test_a_key_that_is_none_is_told_without_repeating_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(NoKeyError) as told:
        key_of({KEY_VARIABLE: text}, tmp_path)(True)
    assert str(told.value) == (
        f"{KEY_VARIABLE} is no key: it must be 32 bytes in base64. Make one: head -c 32 /dev/urandom | base64"
    )


@pytest.mark.skipif(os.name != "posix", reason="permissions mean something on POSIX alone")
def test_a_key_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    key_of({}, tmp_path)(True)
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(NoKeyError, match=r"Others than you may read the key .* chmod 600"):
        key_of({}, tmp_path)(False)


def test_a_key_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoKeyError, match=r"cannot be made: No such file or directory\."):
        key_of({}, tmp_path / "nowhere")(True)
