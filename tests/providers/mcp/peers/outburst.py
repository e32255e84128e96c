"""A server that writes megabytes nobody waits for after its first answer, of each kind that servers are known for."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "servers"))

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

SIZE = 2_000_000
KINDS = (
    b"[INFO] a line of a log on the wrong stream\n",
    b'{"level": "info", "message": "a structured line of a log on the wrong stream"}\n',
    json.dumps({"jsonrpc": "2.0", "id": "nobody", "result": {}}).encode() + b"\n",
    json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).encode() + b"\n",
    json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}}
    ).encode()
    + b"\n",
)


def main() -> None:
    answers = wire.opening("outburst") | {
        "tools/list": wire.lists([wire.tool("burst"), wire.tool("echo")]),
        "tools/call": wire.calls({name: lambda arguments: wire.text("done") for name in ("burst", "echo")}),
    }
    for request in wire.messages():
        response = wire.answer(request, answers)
        if response is not None:
            wire.write(response)
        if request.get("params", {}).get("name") == "burst":
            for line in KINDS:
                wire.write_bytes(line * (SIZE // len(line)))


if __name__ == "__main__":
    main()
