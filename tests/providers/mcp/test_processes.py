"""A server's process on either event loop: what it gets of ours, and how its end is seen."""

import errno
import json
import os
import sys
from pathlib import Path

import anyio
import pytest
from tests.providers.mcp.running import Watched, running, server

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolSuccess
from pegboard.core.model.server import Stdio
from pegboard.processes.child import close_pipes
from pegboard.providers.mcp.transports.stdio import start_process, stop_process

pytestmark = [
    pytest.mark.anyio,
    # Both loops that a gateway may run on: they start processes in ways of their own.
    pytest.mark.parametrize(
        "anyio_backend",
        [
            pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
            pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
        ],
    ),
]

PEERS = Path(__file__).parent / "peers"
TELL = """
import json, os, sys
def read(descriptor):
    try:
        return os.pread(descriptor, 100, 0).decode()
    except OSError:
        return None
print(json.dumps([read(descriptor) for descriptor in range(3, 256)]), flush=True)
"""


@pytest.mark.behaviour("config.nothing_inherited")
async def test_a_child_cannot_read_what_the_gateway_was_started_with(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("ours alone")
    with secret.open() as opened:
        os.set_inheritable(opened.fileno(), True)
        process = await start_process(Stdio(sys.executable, ("-c", TELL)))
        assert process.stdout is not None
        with anyio.fail_after(30):
            said = await process.stdout.readline()
        await stop_process(process, 5)
        close_pipes(process)
    assert "ours alone" not in json.loads(said)


@pytest.mark.behaviour("supervision.closed_output")
async def test_a_server_that_closes_its_output_is_lost_at_once_and_started_again() -> None:
    """Well before the deadlines of its calls, which are ten minutes away here."""
    restless = Stdio(sys.executable, (str(PEERS / "restless.py"),))
    ended: list[Outcome] = []

    async def call(watched: Watched, tool: str) -> None:
        ended.append(await watched.call(tool))

    async with running(server(restless, call=600, stop=1.0)) as watched:
        await watched.up()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, watched, "fall_silent")
            tasks.start_soon(call, watched, "lists")
        assert ended == [ProviderFailure("dev~peer closed its output before it answered", may_have_run=True)] * 2
        await watched.up()
        assert isinstance(await watched.call("lists"), ToolSuccess)


async def test_a_script_without_a_first_line_is_run_by_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text('echo "it runs" >/dev/stderr; read -r line; echo "$1 $line"\n')
    script.chmod(0o755)
    process = await start_process(Stdio(str(script), ("says",)))
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with anyio.fail_after(30):
        assert await process.stderr.readline() == b"it runs\n"
        process.stdin.write(b"it ends\n")
        assert await process.stdout.readline() == b"says it ends\n"
        assert await process.wait() == 0
    close_pipes(process)


async def test_a_process_is_seen_to_end_where_no_event_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "pidfd_open", missing)
    process = await start_process(Stdio(sys.executable, ("-c", "import sys; sys.stdin.read(); sys.exit(3)")))
    assert process.stdin is not None
    process.stdin.close()
    with anyio.fail_after(30):
        assert await process.wait() == 3
    close_pipes(process)
