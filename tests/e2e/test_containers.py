"""The example toolset whose tools run in containers, as a person uses it: built, imported, called, killed."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from tests.e2e.served import DEADLINE, ROOT, Served, served
from tests.servers import containers
from tests.servers.containers import IMAGE, Host

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

EXAMPLE = ROOT / "examples" / "words"
BUILT = "localhost/pegboard-words:1"


@pytest.fixture(scope="module")
def podman() -> Iterator[Host]:
    try:
        with containers.podman() as engine:
            # As the example says, but for the image it starts from: no registry is asked here.
            base = ("--build-arg", f"BASE={IMAGE}", "--isolation", "chroot")
            engine("build", *base, "--tag", BUILT, str(EXAMPLE))
            yield engine
    except containers.NoContainers as why:
        pytest.skip(f"no container can run here: {why}")


def _board(podman: Host) -> dict[str, object]:
    settings = podman.settings
    return {
        "containers": {"engine": "podman", "flags": [*settings.flags], "global_flags": [*settings.global_flags]},
    }


async def _done(gateway: Served, *words: str) -> Any:
    code, body = await gateway.pegboard(*words)
    assert code == 0, body
    return body


async def _called(gateway: Served, tool: str, **arguments: object) -> str:
    body = await _done(gateway, "tools", "call", tool, json.dumps(arguments))
    return "".join(part["text"] for part in body["result"]["content"])


def _with_one_that_hangs(folder: Path) -> Path:
    """The example, and a command that does not notice when nobody is there any more."""
    shutil.copytree(EXAMPLE, folder)
    manifest = yaml.safe_load((folder / "toolset.yaml").read_text("utf-8"))
    manifest["containers"][1]["tools"].append({"id": "hang", "command": ["sleep", "1000"], "timeout": "5m"})
    (folder / "toolset.yaml").write_text(yaml.safe_dump(manifest), "utf-8")
    return folder


@pytest.mark.behaviour(
    "toolsets.aggregate_providers",
    "containers.speaks_mcp",
    "containers.json_in_out",
    "containers.leftovers",
    "containers.nothing_left",
)
async def test_the_example_is_imported_called_killed_and_stopped(podman: Host, tmp_path: Path) -> None:
    toolset = _with_one_that_hangs(tmp_path / "words")
    with anyio.fail_after(2 * DEADLINE):
        async with served(tmp_path, _board(podman)) as gateway, anyio.create_task_group() as tasks:
            await _done(gateway, "toolset", "import", str(toolset), "--yes")
            assert json.loads(await _called(gateway, "words:count", text="to be or not")) == {"words": 4}
            assert await _called(gateway, "mcp:words~dictionary:known") == ""
            tasks.start_soon(gateway.pegboard, "tools", "call", "words:hang", "{}")
            await _until(podman, 2)
            await gateway.kill()
            tasks.cancel_scope.cancel()
        # The server heard the end of its input, and ended.
        await _until(podman, 1)
        async with served(tmp_path, _board(podman)) as gateway:
            await _until(podman, 0)
            assert json.loads(await _called(gateway, "words:shout", text="oh")) == {"TEXT": "OH"}
            assert await gateway.stop() == 0
    assert podman.left() == []


async def _until(podman: Host, number: int) -> None:
    while len(await anyio.to_thread.run_sync(podman.left)) != number:  # noqa: ASYNC110 - no bell rings for it
        await anyio.sleep(0.1)
