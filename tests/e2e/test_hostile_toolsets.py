"""Bundles that nobody should make, through the whole import: refused by name, and nothing is written or half there."""

import random
import stat
import zipfile
from pathlib import Path

import pytest
from tests.config.bundle.packing import entry, overlapping, packed, with_entries
from tests.e2e.test_toolset_import import policy
from tests.support.toolsets import MINE, WORDS, brought, housed, laid_out, manifest, zipped

from pegboard.gateway.toolsets.files import FilesUnavailable
from pegboard.gateway.toolsets.reader import ImportRefusedError, InvalidToolsetError

pytestmark = pytest.mark.anyio


def snapshot(folder: Path, *, but: Path) -> dict[str, bytes | None]:
    """Everything below a folder, but for what the import may write."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if but not in path.parents and path != but
    }


def mutated(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        match chance.randrange(5):
            case 0:
                data[chance.randrange(len(data))] = chance.randrange(256)
            case 1:
                at = chance.randrange(len(data))
                del data[at : at + chance.randint(1, 40)]
            case 2:
                at = chance.randrange(len(data))
                data[at:at] = data[at : at + chance.randint(1, 60)]
            case 3:
                at = chance.randrange(len(data))
                data[at : at + 4] = chance.choice([b"../.", b"//et", b"\0\0\0\0", b"\xff\xff\xff\xff", b"PK\x03\x04"])
            case _:
                at = data.find(
                    chance.choice([b"tools/words.py", b"toolset.yaml", b"mine"]), chance.randrange(len(data))
                )
                if at >= 0:
                    data[at] = chance.choice(b"./\\:\x00~%C")
        if len(data) < 4:
            break
    return bytes(data)


@pytest.mark.slow
@pytest.mark.behaviour("toolsets.hostile_bundles")
@pytest.mark.parametrize("tries", [200, pytest.param(3_000, marks=[pytest.mark.soak, pytest.mark.timeout(1_200)])])
async def test_mutated_archives_are_refused_or_imported_whole(tries: int, tmp_path: Path) -> None:
    chance = random.Random(5)
    folder = laid_out(
        tmp_path / "mine", {**manifest(), "tools": [], "description": "x"}, {"tools/words.py": WORDS, "a/b": "c"}
    )
    content, data, file = zipped(folder).read_bytes(), tmp_path / "data", tmp_path / "try.zip"
    async with housed(data, lambda key, id: False) as house:
        root = house.installer.files.root
        before = snapshot(tmp_path, but=root)
        refused = 0
        for _ in range(tries):
            file.write_bytes(mutated(content, chance))
            try:
                await brought(house, file, allow_downgrade=True)
            except (InvalidToolsetError, ImportRefusedError, FilesUnavailable):
                refused += 1
            installed = policy(house).decisions
            assert {id: {own.name for own in (root / id).iterdir()} for id in installed.files} == {
                path.name: {each.name for each in path.iterdir()} for path in root.iterdir() if path.is_dir()
            }, "no more and no less than what is installed lies there"
        file.unlink()
        after = snapshot(tmp_path, but=root)
        store = {name for name in {*before, *after} if name.startswith("data/pegboard.db")}
        assert {n: t for n, t in after.items() if n not in store} == {n: t for n, t in before.items() if n not in store}
    assert refused > tries // 4


@pytest.mark.behaviour("toolsets.hostile_bundles")
@pytest.mark.parametrize(
    "name",
    ["//etc/passwd", "/etc/passwd", "../x", "a/../../x", "a//b", "C:/x", "a\\..\\b", "con.txt", "a/./b", "a./b", "x\n"],
)
async def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    """Weaknesses 1 and 3: `//etc/passwd` was written to /etc, and a bundle could be as large as it said."""
    bundle = packed(tmp_path / "bad.zip", {"toolset.yaml": "id: mine\nversion: '1'\n", name: "x"})
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        before = snapshot(tmp_path, but=house.installer.files.root)
        with pytest.raises(InvalidToolsetError):
            await brought(house, bundle)
        assert snapshot(tmp_path, but=house.installer.files.root) == before
        assert policy(house).toolsets == {}


@pytest.mark.behaviour("toolsets.hostile_bundles")
async def test_bombs_and_links_are_refused(tmp_path: Path) -> None:
    link = with_entries(tmp_path / "link.zip", (entry("a", mode=stat.S_IFLNK | 0o777), b"/etc/passwd"))
    bomb = packed(tmp_path / "bomb.zip", {"toolset.yaml": "id: mine\n", "a": b"\0" * 80_000_000})
    shared = overlapping(tmp_path / "shared.zip", 50)
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        for bundle in (link, bomb, shared):
            with pytest.raises(InvalidToolsetError):
                await brought(house, bundle)
        assert policy(house).toolsets == {}


@pytest.mark.behaviour("toolsets.hostile_bundles")
@pytest.mark.parametrize("id", ["../..", "/etc", "..", "a/b", "~", "A", "", "mcp", "x" * 65, "a\0b"])
async def test_an_id_that_is_a_path_is_refused(tmp_path: Path, id: str) -> None:
    """Weakness 2: the folder that such an id leads to was removed and written."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        with pytest.raises(InvalidToolsetError, match="id: "):
            await brought(house, laid_out(tmp_path / "bad", {**manifest(), "id": id}))
        assert (precious.read_text(), policy(house).toolsets) == ("mine", {})


async def test_a_folder_with_a_link_is_refused(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    (folder / "secrets").symlink_to("/etc")
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        with pytest.raises(InvalidToolsetError, match="secrets: it is a symbolic link"):
            await brought(house, folder)
        assert MINE not in policy(house).toolsets


async def test_an_archive_in_which_nothing_is_wrong_but_its_manifest_is_refused_whole(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "list.zip", "w") as archive:
        archive.writestr("toolset.yaml", "- a list\n")
        archive.writestr("tools/words.py", WORDS)
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        with pytest.raises(InvalidToolsetError, match=r"toolset\.yaml:1"):
            await brought(house, tmp_path / "list.zip")
        assert [path for path in house.installer.files.root.iterdir() if path.is_dir()] == []
