"""A setting is written into the operator's file by the API: what it takes, and all that it must not do."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.surfaces.rest.desk import Desk, at_desk, problem

from pegboard.config.settings import Settings, load_settings_file
from pegboard.surfaces.rest import settings as setting_changes

pytestmark = pytest.mark.anyio

TEXT = """\
# Ours.
audit:
  keep_days: 7  # a week
search: {semantic: true}
"""


@pytest.fixture(autouse=True)
def nobody_follows_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting_changes, "LOAD_TIMEOUT_S", 0.0)


def placed(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")


@asynccontextmanager
async def over(file: Path, text: str = TEXT) -> AsyncIterator[Desk]:
    placed(file, text)
    async with at_desk() as desk:
        settings = load_settings_file(file)
        assert isinstance(settings, Settings), settings
        desk.house.board.settings_locations = settings.source
        yield desk


def files(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


def body(value: Any, text: str = TEXT, **more: Any) -> dict[str, Any]:
    return {"value": value, "fileDigest": hashlib.sha256(text.encode()).hexdigest(), **more}


@pytest.mark.behaviour("settings.set")
async def test_a_setting_is_written_into_its_line_and_nothing_else_changes(tmp_path: Path) -> None:
    file = tmp_path / "pegboard.yaml"
    async with over(file) as desk:
        file.chmod(0o640)
        tried = await desk.ask("PUT", "/settings/audit.keep_days", json=body(30, dryRun=True))
        assert (tried.status_code, file.read_text("utf-8")) == (200, TEXT)
        told = (await desk.ask("PUT", "/settings/audit.keep_days", json=body(30))).json()
        said = [each.text for each in desk.house.audit.decisions if each.kind == "config"]
    after = TEXT.replace("keep_days: 7 ", "keep_days: 30 ")
    assert (file.read_text("utf-8"), file.stat().st_mode & 0o777) == (after, 0o640)
    assert files(tmp_path) == [file]
    assert (tried.json()["written"], told["written"], told["requiresRestart"]) == (False, True, True)
    assert told["patch"] == tried.json()["patch"]
    assert "-  keep_days: 7  # a week\n+  keep_days: 30  # a week\n" in told["patch"]
    assert told["fileDigest"] == hashlib.sha256(after.encode()).hexdigest()
    assert said == ["audit.keep_days was set in pegboard.yaml by the API"]


@pytest.mark.behaviour("settings.set")
async def test_a_file_that_was_edited_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "pegboard.yaml"
    async with over(file) as desk:
        file.write_text(f"{TEXT}# more\n", "utf-8")
        answer = await desk.ask("PUT", "/settings/audit.keep_days", json=body(30))
    assert problem(answer) == (412, "The file was edited meanwhile. Look at it again before you change it.")
    assert file.read_text("utf-8") == f"{TEXT}# more\n"


@pytest.mark.behaviour("settings.set")
async def test_of_several_changes_at_once_on_the_same_file_one_is_written(tmp_path: Path) -> None:
    file = tmp_path / "pegboard.yaml"
    found: list[int] = []
    async with over(file) as desk, anyio.create_task_group() as tasks:

        async def change(days: int) -> None:
            found.append((await desk.ask("PUT", "/settings/audit.keep_days", json=body(days))).status_code)

        for days in range(10, 16):
            tasks.start_soon(change, days)
    assert sorted(found) == [200, 412, 412, 412, 412, 412]


@pytest.mark.behaviour("settings.set")
@pytest.mark.parametrize(
    ("key", "value", "status", "told"),
    [
        ("audit.keep_days", "many", 422, "this must be a whole number"),
        ("audit.keep_days", 0, 422, "this must be"),
        ("audit.keep_days", {"a": 1}, 422, "this must be a whole number"),
        ("presentation", "loud", 422, "this must be"),
        ("redact", "[a]\nservers: {x: {command: sh}}", 422, "this must be a list"),
        ("servers", {"x": {"command": "sh"}}, 409, "servers is not set here."),
        ("store", "sqlite:///x", 409, "store is not set here."),
        ("gateway.allowed_hosts", ["evil.example"], 409, "gateway.allowed_hosts is not set here."),
        ("code.sandbox", "full", 409, "code.sandbox is not set here."),
        ("deny", [], 409, "deny is not set here."),
        ("audit.nothing", 1, 404, "There is no setting 'audit.nothing'."),
    ],
)
async def test_what_does_not_fit_or_is_not_for_here_is_told_and_not_written(
    tmp_path: Path, key: str, value: Any, status: int, told: str
) -> None:
    file = tmp_path / "pegboard.yaml"
    async with over(file) as desk:
        answer = await desk.ask("PUT", f"/settings/{key}", json=body(value))
    got, detail = problem(answer)
    assert (got, told in detail) == (status, True), detail
    assert file.read_text("utf-8") == TEXT


@pytest.mark.behaviour("settings.set")
async def test_a_list_is_set_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "pegboard.yaml"
    real.write_text(TEXT, "utf-8")
    link.symlink_to(real)
    async with over(link) as desk:
        answer = await desk.ask("PUT", "/settings/redact", json=body(["日本", "a]\nservers: {x: {command: sh}}"]))
    assert answer.status_code == 200, answer.text
    assert (link.is_symlink(), real.read_text("utf-8")) == (
        True,
        f'{TEXT}redact: ["日本", "a]\\nservers: {{x: {{command: sh}}}}"]\n',
    )


@pytest.mark.behaviour("settings.set")
async def test_a_file_that_cannot_be_written_is_told_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pegboard.yaml"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with over(file) as desk:
        monkeypatch.setattr(os, "fsync", full)
        answer = await desk.ask("PUT", "/settings/audit.keep_days", json=body(30))
    told = f"{file} cannot be written: No space left on device. Edit it where it comes from."
    assert problem(answer) == (422, told)
    assert (files(tmp_path), file.read_text("utf-8")) == ([file], TEXT)


@pytest.mark.behaviour("settings.set")
async def test_a_value_that_is_masked_is_read_only(tmp_path: Path) -> None:
    secret = "redact: [password=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD]\n"
    async with over(tmp_path / "pegboard.yaml", secret) as desk:
        rows = {row["key"]: row for row in (await desk.get("/settings"))["settings"]}
    assert "sk-proj" not in str(rows["redact"]["value"])
    assert (rows["redact"]["readOnly"], rows["redact"]["accepts"]) == (True, None)
    assert (rows["search.semantic"]["readOnly"], rows["servers"]["readOnly"]) == (False, True)
    assert (rows["presentation"]["readOnly"], rows["presentation"]["accepts"]["kind"]) == (False, "choice")
