"""A server that counts: each call of `mark` writes its text as a line to a file, before it answers.

python tests/servers/tally.py FILE

With `hold`, the answer never comes: the call runs until the other side has gone.
"""

import os
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "hold": {"type": "boolean"}},
    "required": ["text"],
}


def mark(arguments: wire.Json) -> wire.Json:
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(f"{arguments['text']}\n")
    if arguments.get("hold"):
        # A pipe whose other end is closed can be read: there is its end to find.
        select.select([sys.stdin], [], [])
        os._exit(0)
    return wire.text(f"marked {arguments['text']}")


if __name__ == "__main__":
    listed = {**wire.tool("mark"), "inputSchema": SCHEMA}
    wire.serve(wire.opening("tally") | {"tools/list": wire.lists([listed]), "tools/call": wire.calls({"mark": mark})})
