"""A server with as many tools as asked for, listed in pages of 100; hand-written and fast.

python tests/servers/many.py 10000                       both protocol eras
python tests/servers/many.py 10000 --handshake-only      knows nothing of server/discover, as servers before 2026
"""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

PAGE = 100


def tool_name(number: int) -> str:
    return f"tool_{number:05d}"


def tool(number: int) -> wire.Json:
    return wire.tool(
        tool_name(number),
        f"Tool number {number} of many: gives back the text it was handed.",
        {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to give back."}},
            "required": ["text"],
            "additionalProperties": False,
        },
        title=f"Tool {number}",
        annotations={"readOnlyHint": True},
    )


def pages_of(tools: list[wire.Json]) -> wire.Answer:
    def page(params: wire.Json) -> wire.Json:
        cursor = params.get("cursor", "0")
        if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or int(cursor) % PAGE:
            raise wire.Refused(wire.INVALID_PARAMS, f"Unknown cursor {cursor!r}; list again without one.")
        start = int(cursor)
        following = start + PAGE
        return {"tools": tools[start:following]} | ({"nextCursor": str(following)} if following < len(tools) else {})

    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--handshake-only", action="store_true")
    chosen = parser.parse_args()
    tools = [tool(number) for number in range(chosen.count)]
    names = {tool["name"] for tool in tools}

    def call(params: wire.Json) -> wire.Json:
        name = params.get("name")
        if name not in names:
            raise wire.Refused(wire.INVALID_PARAMS, f"Unknown tool: {name!r}")
        return wire.text(f"{name}: {(params.get('arguments') or {}).get('text', '')}")

    answers = wire.opening("many", stateless=not chosen.handshake_only)
    wire.serve(answers | {"tools/list": pages_of(tools), "tools/call": call})


if __name__ == "__main__":
    main()
