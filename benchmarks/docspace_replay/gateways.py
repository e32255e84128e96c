"""The gateway of the replay: `pegboard serve` in a process of its own, with the variables of the recorded calls."""

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from .calling import GatewayError

STARTS_WITHIN: Final = 60.0
STOPS_WITHIN: Final = 15.0
BOARD: Final = ""
"""Nothing but what the variables bring."""


@asynccontextmanager
async def serving(variables: Mapping[str, str], board: str = BOARD) -> AsyncIterator[str]:
    """Its MCP endpoint, for as long as the block lasts."""
    with TemporaryDirectory(prefix="docspace-replay-") as folder:
        home = Path(folder)
        (home / "pegboard.yaml").write_text(board, "utf-8")
        words = ["serve", "--config", str(home / "pegboard.yaml"), "--data-dir", str(home), "--port", "0", "--json"]
        process = await anyio.open_process(
            [sys.executable, "-m", "pegboard", *words], env=_environment(home, variables), stderr=None
        )
        async with process:
            try:
                assert process.stdout is not None
                try:
                    with anyio.fail_after(STARTS_WITHIN):
                        endpoint = await _endpoint(BufferedByteReceiveStream(process.stdout))
                except TimeoutError:
                    told = f"pegboard serve did not listen within {STARTS_WITHIN:.0f} seconds"
                    raise GatewayError(told) from None
                yield endpoint
            finally:
                if process.returncode is None:
                    process.terminate()
                    with anyio.move_on_after(STOPS_WITHIN, shield=True):
                        await process.wait()
                if process.returncode is None:
                    process.kill()


def _environment(home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the user's own settings: neither Pegboard's nor DocSpace's."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(home), **variables}


async def _endpoint(stdout: BufferedByteReceiveStream) -> str:
    text = b""
    while True:
        try:
            text += await stdout.receive_until(b"\n", 1_000_000)
        except (anyio.EndOfStream, anyio.IncompleteRead):
            raise GatewayError("pegboard serve ended before it listened; what it said stands above") from None
        try:
            told: dict[str, Any] = json.loads(text)
        except ValueError:
            continue
        return str(told["endpoint"])
