"""A server whose every answer stands among lies, and half of whose tools are broken; `honest` is sound and works.

python tests/servers/liar.py                   both
python tests/servers/liar.py --sound-tools     lies on the wire alone: lines that are no JSON, ids nobody asked with
python tests/servers/liar.py --sound-wire      broken tools alone
"""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

HONEST = wire.tool(
    "honest",
    "Give the text back.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
BROKEN: list[wire.Json] = [
    {"name": "schema_is_a_list", "description": "Its schema is [].", "inputSchema": []},
    {"name": "schema_is_missing", "description": "It has no schema."},
    {"name": "schema_is_nonsense", "inputSchema": {"type": "object", "properties": {"a": {"type": "no such type"}}}},
    {"description": "It has no name.", "inputSchema": {"type": "object"}},
    {"name": "", "description": "Its name is empty.", "inputSchema": {"type": "object"}},
    {"name": 7, "description": "Its name is a number.", "inputSchema": {"type": "object"}},
    wire.tool("twin", "The first of that name."),
    wire.tool("twin", "The second of that name."),
    wire.tool("long_" * 60, "Its name has 300 characters."),
    wire.tool("new\nline", "Its name has a line break."),
    wire.tool(
        "remote_ref",
        "Its schema points to another machine.",
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
    ),
    wire.tool(
        "dangling_ref",
        "Its schema points to nothing.",
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
    ),
    wire.tool("endless_ref", "Its schema is itself.", {"type": "object", "$ref": "#"}),
]


def honest(arguments: wire.Json) -> wire.Json:
    return wire.text(str(arguments.get("text", "")))


def lie(response: wire.Json) -> None:
    wire.write_bytes(b'{"jsonrpc": "2.0", "id": 1, "result": {"tools": [\n')
    wire.write_bytes(b"\xff\xfe not even UTF-8 \x00\n")
    wire.write_bytes(b"\n")
    wire.write([])
    wire.write(None)
    wire.write({"jsonrpc": "2.0", "id": 987_654_321, "result": wire.text("an answer to a question nobody asked")})
    wire.write({"jsonrpc": "2.0", "id": f"not-{response['id']}", "error": {"code": -1, "message": "nor this one"}})
    wire.write({"jsonrpc": "2.0", "method": "notifications/no/such/thing", "params": {"a": 1}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sound-tools", action="store_true")
    parser.add_argument("--sound-wire", action="store_true")
    chosen = parser.parse_args()
    answers = wire.opening("liar") | {
        "tools/list": wire.lists([HONEST] if chosen.sound_tools else [*BROKEN, HONEST]),
        "tools/call": wire.calls({"honest": honest}),
    }
    for request in wire.messages():
        response = wire.answer(request, answers)
        if response is None:
            continue
        if chosen.sound_wire:
            wire.write(response)
            continue
        lie(response)
        wire.write(response)
        # The same question answered twice, the second time otherwise.
        wire.write(response | {"result": wire.text("on second thought, no")})


if __name__ == "__main__":
    main()
