"""A cookbook as an MCP server over standard input and output, with nothing but Python itself."""

import json
import sys
from typing import Any

RECIPES = {"pancakes": "Flour, milk, eggs. Fry thin.", "porridge": "Oats, water, salt. Stir."}
TOOLS = [
    {
        "name": "read_recipe",
        "description": "One recipe of the cookbook.",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
    {"name": "read_titles", "description": "What can be cooked.", "inputSchema": {"type": "object"}},
    {
        "name": "forget_recipe",
        "description": "Take a recipe out of the cookbook.",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            server = {"name": "cookbook", "version": "1.0.0"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return called(params["name"], params.get("arguments") or {})
        case _:
            return None


def called(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    name = arguments.get("name", "")
    if tool == "read_titles":
        text = ", ".join(sorted(RECIPES))
    elif name not in RECIPES:
        return {"content": [{"type": "text", "text": f"There is no recipe {name!r}."}], "isError": True}
    else:
        text = RECIPES[name] if tool == "read_recipe" else f"{name} is gone: {RECIPES.pop(name)}"
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params") or {})
    told = {"result": result} if result is not None else {"error": {"code": -32601, "message": "not known here"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **told}), flush=True)
