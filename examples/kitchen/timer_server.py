"""An MCP server of kitchen timers, on standard input and output, with nothing but the standard library.

It speaks for itself: a server of the handshake era, one JSON message a line. Timers live as long as it does.
"""

import json
import os
import sys
import time
from typing import Any

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
AT_MOST = int(os.environ.get("TIMERS_AT_MOST", "100"))
NAME = {"type": "string", "minLength": 1, "maxLength": 60}


def tool(name: str, description: str, /, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("start_timer", "Start tmr.", name=NAME, seconds={"type": "integer", "minimum": 1, "maximum": 86400}),
    tool("list_timers", "Tell every timer and how many seconds it has left. At 0 it rings."),
    tool("stop_timer", "Stop a timer, whether it has rung or not.", name=NAME),
    tool("stop_all_timers", "Stop all timers."),
    tool("advance_clock", "For tests: pretend that time has passed.", seconds={"type": "integer", "minimum": 0}),
]


class Wrong(Exception):  # noqa: N818 - told to the model as a sentence
    """What is wrong with a call, and what to do."""


class Timers:
    def __init__(self) -> None:
        self._ends: dict[str, float] = {}
        self._ahead = 0.0

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        match name, arguments:
            case "start_timer", {"name": str(label), "seconds": int(seconds)}:
                return self._start(label, seconds)
            case "list_timers", _:
                left = {label: max(0, round(end - self._now())) for label, end in self._ends.items()}
                told = [f"{label}: {f'{seconds} s left' if seconds else 'rings'}" for label, seconds in left.items()]
                return "\n".join(told) or "No timer is set."
            case "stop_timer", {"name": str(label)}:
                if self._ends.pop(label, None) is None:
                    raise Wrong(f"There is no timer {label!r}. Set are: {', '.join(self._ends) or 'none'}.")
                return f"{label} is stopped."
            case "stop_all_timers", _:
                stopped = len(self._ends)
                self._ends.clear()
                return f"{stopped} stopped."
            case "advance_clock", {"seconds": int(seconds)}:
                self._ahead += seconds
                return "Time has passed."
            case _:
                raise Wrong(f"{name} does not take these arguments, or does not exist. See tools/list.")

    def _start(self, label: str, seconds: int) -> str:
        if label not in self._ends and len(self._ends) >= AT_MOST:
            raise Wrong(f"{AT_MOST} timers are set, and there can be no more. Stop one first.")
        self._ends[label] = self._now() + seconds
        return f"{label} rings in {seconds} s."

    def _now(self) -> float:
        return time.monotonic() + self._ahead


def answer(timers: Timers, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """None where there is no such method."""
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "kitchen-timers", "version": "1.0.0"},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            try:
                text, failed = timers.call(str(params.get("name")), params.get("arguments") or {}), False
            except Wrong as wrong:
                text, failed = str(wrong), True
            return {"content": [{"type": "text", "text": text}], "isError": failed}
        case _:
            return None


def main() -> None:
    timers = Timers()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue  # a notification, or an answer: there is nothing to say to either
        said: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if (result := answer(timers, message["method"], message.get("params") or {})) is None:
            said["error"] = {"code": -32601, "message": f"There is no method {message['method']!r} here."}
        else:
            said["result"] = result
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
