"""Where a toolset was imported from is kept and given away with no export; programs of a bundle stay programs."""

import io
import os
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.config.bundle.test_checkouts import git
from tests.e2e.test_toolset_import import policy
from tests.support.toolsets import MINE, WORDS, brought, housed, laid_out, manifest, tool, zipped

from pegboard.bootstrap.application import Application
from pegboard.core.model.ids import ToolsetKey
from pegboard.core.model.tool import OwnTools
from pegboard.core.model.toolset import ToolsetImport, ToolsetOrigin
from pegboard.gateway.toolsets.export import export_bundle
from pegboard.gateway.toolsets.reader import InvalidToolsetError
from pegboard.surfaces.rest.toolsets import import_source_info

pytestmark = pytest.mark.anyio

NEVER = datetime(2026, 1, 1, tzinfo=UTC)
RUN = "#!/bin/sh\necho hello\n"


def kept(house: Application) -> ToolsetImport:
    """But for the time."""
    found = policy(house).decisions.toolsets[MINE].imported_from
    assert found is not None
    return replace(found, at=NEVER)


def programs(house: Application) -> dict[str, bool]:
    return {file.path: file.executable for file in policy(house).decisions.files[MINE]}


def nobody(key: str, id: str) -> bool:
    return False


@pytest.mark.behaviour("toolsets.source_is_kept")
async def test_the_kind_and_the_place_of_the_last_import_are_kept(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    archive = zipped(folder)
    alone = tmp_path / "mine.yaml"
    alone.write_text("id: mine\nname: Mine\nversion: 2.0.0\n")
    async with housed(tmp_path / "data", nobody) as house:
        await brought(house, folder)
        first = policy(house).decisions.toolsets[MINE]
        assert kept(house) == ToolsetImport(ToolsetOrigin.FOLDER, NEVER, str(folder))
        await brought(house, archive)
        again = policy(house).decisions.toolsets[MINE]
        assert kept(house) == ToolsetImport(ToolsetOrigin.ZIP, NEVER, str(archive))
        assert again.origin == first.origin
        await brought(house, archive, is_upload=True)
        assert kept(house) == ToolsetImport(ToolsetOrigin.UPLOAD, NEVER)
        await brought(house, alone)
        assert kept(house) == ToolsetImport(ToolsetOrigin.MANIFEST, NEVER, str(alone))
    async with housed(tmp_path / "data", nobody) as house:
        assert kept(house) == ToolsetImport(ToolsetOrigin.MANIFEST, NEVER, str(alone))


@pytest.mark.behaviour("toolsets.source_is_kept", "toolsets.checkouts")
async def test_a_checkout_is_kept_with_its_commit_and_no_export_tells_of_it(tmp_path: Path) -> None:
    files = {"tools/words.py": WORDS, ".gitignore": "*.log\n", "run.log": "noise"}
    folder = laid_out(tmp_path / "very-private-place" / "mine", manifest(), files)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://me:hunter2@example.org/mine.git")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    commit = git(folder, "rev-parse", "HEAD")
    async with housed(tmp_path / "data", nobody) as house:
        looked = await brought(house, folder)
        assert kept(house) == ToolsetImport(ToolsetOrigin.GIT, NEVER, str(folder), commit)
        assert import_source_info(kept(house)) == {
            "kind": "git",
            "path": str(folder),
            "at": NEVER.isoformat(),
            "commit": commit,
            "dirty": False,
        }
        assert looked.warnings == ("run.log is left out: Git ignores it.",)
        assert [*programs(house)] == [".gitignore", "tools/words.py", "toolset.yaml"]
        (folder / "tools/words.py").write_text(WORDS + "\n")
        await brought(house, folder, link=True)
        assert kept(house) == ToolsetImport(ToolsetOrigin.GIT, NEVER, str(folder), commit, is_dirty=True)
        bundle = await export_bundle(policy(house), house.installer.files, MINE)
    with zipfile.ZipFile(io.BytesIO(bundle.content)) as archive:
        given = b"".join(archive.read(name) for name in archive.namelist())
    assert not any(secret in given for secret in (b"very-private-place", b"hunter2", commit.encode()))


@pytest.mark.behaviour("toolsets.checkouts")
async def test_what_is_missing_because_git_ignores_it_is_told_so(tmp_path: Path) -> None:
    files = {"tools/words.py": WORDS, ".gitignore": "tools/\n"}
    folder = laid_out(tmp_path / "mine", manifest(), files)
    git(folder, "init", "-q")
    async with housed(tmp_path / "data", nobody) as house:
        with pytest.raises(InvalidToolsetError) as unfit:
            await brought(house, folder)
    assert str(unfit.value.problems[-1]).endswith("toolset.yaml: tools/ is left out: Git ignores it.")


@pytest.mark.behaviour("toolsets.programs_stay_programs")
async def test_what_may_be_run_may_be_run_after_an_import_and_an_export(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(tool("shout")), {"tools/words.py": WORDS, "bin/run": RUN})
    (folder / "bin/run").chmod(0o755)
    (folder / "tools/words.py").chmod(0o644)
    marks = {"bin/run": True, "tools/words.py": False, "toolset.yaml": False}
    async with housed(tmp_path / "data", nobody) as house:
        await brought(house, folder)
        own = policy(house).servers[ToolsetKey(MINE)].connection
        assert isinstance(own, OwnTools)
        there = house.installer.files.folder(MINE, own.digest)
        assert os.access(there / "bin/run", os.X_OK)
        assert (programs(house), (there / "bin/run").stat().st_mode & 0o077) == (marks, 0)
        given = await export_bundle(policy(house), house.installer.files, MINE)
        (tmp_path / "given.zip").write_bytes(given.content)
        unpacked = await brought(house, tmp_path / "given.zip")
        assert (programs(house), unpacked.differences.is_empty) == (marks, True)
        (folder / "bin/run").chmod(0o644)
        plain = await brought(house, folder)
        assert [each.name for each in plain.differences.files] == ["bin/run"]
        assert programs(house) == dict.fromkeys(marks, False)
        own = policy(house).servers[ToolsetKey(MINE)].connection
        assert isinstance(own, OwnTools)
        assert not os.access(house.installer.files.folder(MINE, own.digest) / "bin/run", os.X_OK)
