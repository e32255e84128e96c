"""A server that dies in the middle of a tool call, silently or with half an answer written; `echo` works until then."""

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire


def crash(arguments: wire.Json) -> wire.Json:
    wire.complain("crash_on_call: out of memory, or so it says")
    os._exit(9)


def crash_halfway(arguments: wire.Json) -> wire.Json:
    whole = json.dumps({"jsonrpc": "2.0", "id": 1, "result": wire.text("half of this is never sent")}).encode()
    wire.write_bytes(whole[: len(whole) // 2])
    os._exit(9)


def echo(arguments: wire.Json) -> wire.Json:
    return wire.text(str(arguments.get("text", "")))


if __name__ == "__main__":
    TOOLS = {"crash": crash, "crash_halfway": crash_halfway, "echo": echo}
    answers = wire.opening("crash-on-call")
    wire.serve(
        answers | {"tools/list": wire.lists([wire.tool(name) for name in TOOLS]), "tools/call": wire.calls(TOOLS)}
    )
