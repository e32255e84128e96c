"""A server that is another one at each start: a file says what it lists, and in another it notes when its tool ran.

changeling.py WORDS RAN
The words are the description of its one tool, `peg`. Without the file it does not start at all.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "servers"))

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire


def main() -> None:
    words, ran = map(Path, sys.argv[1:])
    if not words.exists():
        sys.exit("there is nothing to be")
    described = wire.tool("peg") | {"description": words.read_text()}

    def peg(arguments: wire.Json) -> wire.Json:
        with ran.open("a") as notes:
            notes.write("ran\n")
        return wire.text("hung")

    wire.serve(
        wire.opening("changeling") | {"tools/list": wire.lists([described]), "tools/call": wire.calls({"peg": peg})}
    )


if __name__ == "__main__":
    main()
