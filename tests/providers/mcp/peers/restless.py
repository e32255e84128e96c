"""A server with much to tell besides its answers.

`announce` says a thousand times that the tools changed; `lists` says how often they were listed; `ask` asks the client
four things back in the middle of the call and returns what it was answered; `babble` writes megabytes without a line
end before it answers; `chatter` writes log messages before it answers, `gush` notifications of megabytes; `huge`
answers with as many bytes as asked; `leave` answers and leaves at once, but has a child that keeps its output open;
`fall_silent` closes its output without an answer, and lives on.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "servers"))

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "half way"}}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
QUESTIONS = {
    "roots": ("roots/list", {}),
    "sampling": ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
    "elicitation": ("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
    "ping": ("ping", {}),
}

lists = 0
messages = wire.messages()


def list_tools(params: wire.Json) -> wire.Json:
    global lists
    lists += 1
    return {"tools": [wire.tool(name) for name in TOOLS]}


def announce(arguments: wire.Json) -> wire.Json:
    for _ in range(1000):
        wire.write(CHANGED)
    return wire.text("announced")


def ask(arguments: wire.Json) -> wire.Json:
    for name, (method, params) in QUESTIONS.items():
        wire.write({"jsonrpc": "2.0", "id": name, "method": method, "params": params})
    answers: dict[str, str] = {}
    while len(answers) < len(QUESTIONS):
        message = next(messages)
        if message.get("id") in QUESTIONS:
            answers[message["id"]] = "error" if "error" in message else "result"
    return wire.text(json.dumps(answers, sort_keys=True))


def babble(arguments: wire.Json) -> wire.Json:
    for _ in range(arguments["megabytes"]):
        wire.write_bytes(b"x" * 1_000_000)
    wire.write_bytes(b"\n")
    return wire.text("babbled")


def chatter(arguments: wire.Json) -> wire.Json:
    for _ in range(arguments["times"]):
        wire.write(LOG)
    return wire.text("said")


def gush(arguments: wire.Json) -> wire.Json:
    params = {"progressToken": 1, "progress": 1, "x": [{}] * 1_000_000}
    for _ in range(arguments["times"]):
        wire.write({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    return wire.text("gushed")


def leave(arguments: wire.Json) -> wire.Json:
    subprocess.Popen([sys.executable, "-c", "import signal; signal.alarm(600); signal.pause()"])
    return wire.text("bye")


def fall_silent(arguments: wire.Json) -> wire.Json:
    os.close(1)
    signal.alarm(600)
    while True:
        signal.pause()


TOOLS = {
    "announce": announce,
    "ask": ask,
    "babble": babble,
    "chatter": chatter,
    "fall_silent": fall_silent,
    "gush": gush,
    "huge": lambda arguments: wire.text("x" * arguments["bytes"]),
    "leave": leave,
    "lists": lambda arguments: wire.text(str(lists)),
}


def main() -> None:
    answers = wire.opening("restless", stateless=False) | {"tools/list": list_tools, "tools/call": wire.calls(TOOLS)}
    for request in messages:
        response = wire.answer(request, answers)
        if response is not None:
            wire.write(response)
        if request.get("params", {}).get("name") == "leave":
            os._exit(5)


if __name__ == "__main__":
    main()
