"""A server of resources and prompts that strain a client: many, endless, large, odd, or deadly to ask for.

python tests/servers/shelves.py many | endless | large | odd | deadly
"""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

KIND = sys.argv[1]
CAPABILITIES: wire.Json = {"tools": {}, "resources": {}, "prompts": {}}
cancelled = 0


def opening() -> dict[str, wire.Answer]:
    answers = wire.opening("shelves", stateless=False)
    initialize = answers["initialize"]

    def with_shelves(params: wire.Json) -> wire.Json | None:
        return (initialize(params) or {}) | {"capabilities": CAPABILITIES}

    return answers | {"initialize": with_shelves}


def resource(uri: str, **more: object) -> wire.Json:
    return {"uri": uri, "name": uri.removeprefix("shelf://"), **more}


def list_resources(params: wire.Json) -> wire.Json:
    if KIND == "many":
        start = int(params.get("cursor", 0))
        page: list[object] = [resource(f"shelf://{number}") for number in range(start, min(start + 2_500, 10_000))]
        if start + 2_500 < 10_000:
            return {"resources": page, "nextCursor": str(start + 2_500)}
        return {"resources": [*page, resource("shelf://0"), 7, {"name": "lost"}, {"uri": "shelf://nameless"}]}
    if KIND == "endless":
        number = int(params.get("cursor", 0))
        return {"resources": [resource(f"shelf://{number}")], "nextCursor": str(number + 1)}
    return {"resources": [resource(f"shelf://{KIND}"), *([resource("shelf://die")] if KIND == "deadly" else [])]}


def list_prompts(params: wire.Json) -> wire.Json:
    if KIND == "endless":
        raise wire.Refused(-32603, "out of order")
    icon = {"src": "https://shelf.example/i.png"}
    return {"prompts": [{"name": "odd one", "vintage": 1987, "_meta": {"example.org/a": [1, None]}, "icons": [icon]}]}


def read(params: wire.Json) -> wire.Json | None:
    uri = params["uri"]
    match uri:
        case "shelf://die":
            os._exit(3)
        case "shelf://wait":
            return None
        case "shelf://cancelled":
            text = str(cancelled)
        case "shelf://large":
            text = "x" * 20_000_000
        case _:
            text = "odd"
    return {"contents": [{"uri": uri, "text": text, "flavour": {"sweet": True}}], "mood": "calm"}


def main() -> None:
    global cancelled
    answers = opening() | {
        "tools/list": wire.lists([wire.tool("look")]),
        "resources/list": list_resources,
        "resources/templates/list": lambda params: {"resourceTemplates": []},
        "prompts/list": list_prompts,
        "resources/read": read,
    }
    for request in wire.messages():
        if request.get("method") == "notifications/cancelled":
            cancelled += 1
        if request.get("params", {}).get("uri") == "shelf://leak":
            token = os.environ["SHELF_TOKEN"]
            error = {"code": -1234, "message": f"no {token}", "data": {"token": token}}
            wire.write({"jsonrpc": "2.0", "id": request["id"], "error": error})
            continue
        response = wire.answer(request, answers)
        if response is not None:
            wire.write(response)


if __name__ == "__main__":
    main()
