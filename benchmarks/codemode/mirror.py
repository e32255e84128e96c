"""An MCP server over stdio whose one tool gives back what it gets: `python -m benchmarks.codemode.mirror`."""

import json
import sys
from typing import Any, Final

_TOOL: Final = {
    "name": "mirror",
    "description": "Gives back what it gets.",
    "inputSchema": {"type": "object", "properties": {"value": {}}, "required": ["value"]},
    "outputSchema": {"type": "object", "properties": {"value": {}}, "required": ["value"]},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "mirror", "version": "1"},
            }
        case "tools/list":
            return {"tools": [_TOOL]}
        case "tools/call":
            return {"content": [], "structuredContent": {"value": params["arguments"]["value"]}}
        case _:
            return {}


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            known = asked["method"] in ("initialize", "tools/list", "tools/call", "ping")
            said: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
            if known:
                said["result"] = answer(asked["method"], asked.get("params") or {})
            else:
                said["error"] = {"code": -32601, "message": "no such method"}
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
