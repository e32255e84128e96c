"""A gateway as people run it: `pegboard serve` in a process of its own, on a free port, with a board of its own."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
import yaml
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import StdioServerParameters
from tests.support.fork_server import python

DEADLINE = 60
POLLING_INTERVAL = 0.05
PEGBOARD = [sys.executable, "-m", "pegboard"]
"""In a fresh process, for tests about processes."""
ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo" / "pegboard.yaml"


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's own settings: an empty home, and a warm Python for the servers of the demo."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHON_FOR_DEMO": python(), "DESK_DIR": str(home / "desk")}


@dataclass(frozen=True)
class Served:
    endpoint: str
    config: Path
    data_dir: Path
    process: Process

    async def pegboard(self, *words: str) -> tuple[int, Any]:
        """One command of a second terminal, asked for JSON."""
        end = words.index("--") if "--" in words else len(words)
        done = await anyio.run_process(
            [*warm_pegboard(), *words[:end], "--data-dir", str(self.data_dir), "--json", *words[end:]],
            env=environment(self.data_dir),
            check=False,
        )
        return done.returncode, json.loads(done.stdout)

    async def ask(self, path: str, method: str = "GET", **body: object) -> Any:
        """One request to the operator's API; the body of the answer, whatever its status. No process is started."""
        async with self._operator() as operator:
            return (await operator.request(method, path, json=body or None)).json()

    async def until(self, path: str, holds: Callable[[Any], Any]) -> Any:
        """Asks again until the answer is as wanted; the test's own deadline ends the waiting."""
        async with self._operator() as operator:
            while True:
                body = (await operator.get(path)).json()
                if holds(body):
                    return body
                await anyio.sleep(POLLING_INTERVAL)

    @property
    def pid(self) -> int:
        """Of the gateway itself: `process` may be a stand-in for it."""
        return int(self._known["pid"])

    @property
    def _known(self) -> Any:
        return json.loads((self.data_dir / "gateway.json").read_text("utf-8"))

    def _operator(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=f"{self.endpoint.removesuffix('/mcp')}/api/v1",
            headers={"authorization": f"Bearer {self._known['token']}"},
            timeout=DEADLINE,
            trust_env=False,
        )

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    async def kill(self) -> None:
        """Without a chance to clean up; it is gone when this returns."""
        os.kill(self.pid, signal.SIGKILL)
        assert await self.process.wait() == -signal.SIGKILL

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()


def warm_pegboard() -> list[str]:
    """The same program, forked from a process that has imported it: a start costs a twentieth."""
    return [python(), "-m", "pegboard"]


@asynccontextmanager
async def served(folder: Path, board: Mapping[str, object] | Path, *, fresh: bool = False) -> AsyncIterator[Served]:
    """Listening when the block begins, gone when it has ended. A test that looks at its memory wants a `fresh`
    process."""
    data_dir = folder / "data"
    data_dir.mkdir(exist_ok=True)
    config = board if isinstance(board, Path) else folder / "pegboard.yaml"
    if not isinstance(board, Path):
        config.write_text(yaml.safe_dump(dict(board)), "utf-8")
    words = ["serve", "--config", str(config), "--data-dir", str(data_dir), "--port", "0", "--json"]
    with anyio.fail_after(DEADLINE):
        process = await anyio.open_process(
            [*(PEGBOARD if fresh else warm_pegboard()), *words], env=environment(data_dir), stderr=None
        )
    async with process:
        try:
            assert process.stdout is not None
            with anyio.fail_after(DEADLINE):
                told = await _document(BufferedByteReceiveStream(process.stdout))
            yield Served(told["endpoint"], config, data_dir, process)
        finally:
            if process.returncode is None:
                process.terminate()
                with anyio.move_on_after(DEADLINE, shield=True):
                    await process.wait()
            if process.returncode is None:
                process.kill()


async def _document(stdout: BufferedByteReceiveStream) -> Any:
    text = b""
    while True:
        text += await stdout.receive_until(b"\n", 1_000_000) + b"\n"
        try:
            return json.loads(text)
        except ValueError:
            continue


def as_stdio(config: Path, data_dir: Path, *, fresh: bool = False) -> StdioServerParameters:
    """The gateway itself as a stdio server, as a client starts it."""
    executable, *rest = PEGBOARD if fresh else warm_pegboard()
    return StdioServerParameters(
        command=executable,
        args=[*rest, "stdio", "--config", str(config), "--data-dir", str(data_dir)],
        env=environment(data_dir),
    )
