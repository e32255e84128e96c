"""The engine: found, missed, and its errors told. And what becomes of tools when there is none."""

from pathlib import Path

import anyio
import pytest
from tests.providers.container.boxes import KEY, Bench, command, containers, own
from tests.providers.mcp.running import as_it_is

from pegboard.config.keys.features import ContainerSettings
from pegboard.core.calls.call import ProviderFailure
from pegboard.core.model.catalogue import ProviderAsleep, ProviderDown
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.ports.providers import ToolDescriptionError
from pegboard.providers.container.engine import ContainerEngine, NoEngine, engine_error, find_engine
from pegboard.providers.container.flags import (
    ContainerNamespace,
    ContainerOwner,
    current_owner,
    image_problem,
    owner_of,
)
from pegboard.providers.container.run import ContainerOutput, temporary_log_file

NEITHER = (
    "needs podman or docker, and neither is on the PATH. Install one of them, or name its path: engine under "
    "containers in pegboard.yaml"
)


def _program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.mark.behaviour("containers.engine_found")
def test_podman_goes_before_docker_unless_the_operator_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = []
    for name in ("docker", "podman"):
        _program(tmp_path / "bin", name)
        found.append(find_engine(ContainerSettings(flags=("--a",), global_flags=("--b",))))
    found.append(find_engine(ContainerSettings("docker")))
    found.append(find_engine(ContainerSettings(str(_program(tmp_path / "own", "enginette")))))
    assert [
        (engine.name, engine.flags, engine.global_flags) for engine in found if isinstance(engine, ContainerEngine)
    ] == [
        ("docker", ("--a",), ("--b",)),
        ("podman", ("--a",), ("--b",)),
        ("docker", (), ()),
        ("enginette", (), ()),
    ]


@pytest.mark.behaviour("containers.engine_missing")
def test_an_engine_that_is_not_there_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_engine(ContainerSettings()) == NoEngine(NEITHER)
    assert find_engine(ContainerSettings("/opt/private/enginette")) == NoEngine(
        "needs the container engine 'enginette', which was not found. Install it, or correct engine under containers "
        "in pegboard.yaml"
    )


@pytest.mark.anyio
@pytest.mark.behaviour("containers.engine_missing")
async def test_without_an_engine_tools_are_shown_as_unavailable_until_there_is_one(
    board: ContainerNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    provider = containers(ContainerSettings(), board).command_provider(KEY, own(command("echo", "cat")), as_it_is)
    at_work = Bench(provider)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(provider.run, at_work.ring)
        listing = await at_work.until(ProviderDown)
        assert isinstance(listing.health, ProviderDown)
        assert listing.health.why == NEITHER
        assert listing.tools == (Tool(ToolId(KEY, "echo"), ToolSpec("echo")),)
        assert await at_work.call("echo") == ProviderFailure(f"demo {NEITHER}", may_have_run=False)
        _program(tmp_path / "bin", "podman")
        provider.restart()
        await at_work.until(ProviderAsleep)
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
@pytest.mark.behaviour("containers.engine_missing")
async def test_an_image_cannot_be_asked_for_its_tools_without_an_engine(
    board: ContainerNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolDescriptionError) as problem:
        await containers(ContainerSettings(), board).label("example.org/tool:1")
    assert problem.value.problems == (f"the image example.org/tool:1 {NEITHER}.",)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"Error: localhost/x:1: image not known\n", "localhost/x:1: image not known"),
        (b"WARN[0000] noise\nError: statfs /srv/me/data/workspaces/x: no such file\n", "statfs …/x: no such file"),
        (
            b"docker: Error response from daemon: Conflict.\nSee 'docker run --help'.\n",
            "Conflict",
        ),
        (
            b"docker: Cannot connect to the Docker daemon at unix:///run/user/7/docker.sock. Is it running?\n\n"
            b"Run 'docker run --help' for more information\n",
            "Cannot connect to the Docker daemon at …/docker.sock. Is it running?",
        ),
        (b'Error: exec: "/opt/tool": not found', 'exec: "/opt/tool": not found'),
        (b"", "it did not say why"),
        (b"Error: \x1b[31mred\x1b[0m\xff", "red\N{REPLACEMENT CHARACTER}"),
    ],
)
@pytest.mark.behaviour("containers.failures_told")
def test_an_error_of_the_engine_is_its_last_line_without_folders_of_this_machine(said: bytes, told: str) -> None:
    assert engine_error(said, keep=("/opt/tool",)) == told


@pytest.mark.parametrize(
    "image",
    [
        "alpine",
        "alpine:3.20",
        "localhost/tool:1",
        "registry.example.org:5000/team/some_tool:1.0-rc.1",
        "ghcr.io/a/b@sha256:" + "0" * 64,
        "f" * 64,
        "sha256:" + "f" * 64,
    ],
)
def test_names_of_images_are_taken_as_registries_write_them(image: str) -> None:
    assert image_problem(image) is None


def test_whoever_owns_a_container_is_known_by_its_number_and_its_beginning(board: ContainerNamespace) -> None:
    assert owner_of(board.fresh_name()) == current_owner()
    assert current_owner().is_alive
    assert not ContainerOwner(current_owner().pid, "1").is_alive
    assert not ContainerOwner(2**22 + 1, "1").is_alive
    assert owner_of("nobody") is None


def test_what_was_written_is_read_back_line_by_line() -> None:
    with temporary_log_file() as record:
        assert record.read_output() is None
        path = Path(record.flags[3].removeprefix("path="))
        moment = b"2026-01-01T00:00:00.000000000+00:00"
        lines = (b"stdout F a b", b"stderr F oh", b"stdout F ", b"stdout P \xff", b"stdout P c", b"stderr P no")
        path.write_bytes(b"".join(b"%b %b\n" % (moment, line) for line in lines))
        assert record.read_output() == ContainerOutput(b"a b\n\n\xffc", b"oh\nno")
    assert not path.parent.exists()
