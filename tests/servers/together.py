"""A server that says its first word only when as many of its kind run: started one after the other, none ever speaks.

python tests/servers/together.py FOLDER COUNT NAME      a file in the folder for each that runs; its one tool is NAME
"""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire


def main() -> None:
    folder, count, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    (folder / f"{name}-{os.getpid()}").touch()
    while len(list(folder.iterdir())) < count:
        time.sleep(0.02)
    wire.serve(
        wire.opening("together")
        | {
            "tools/list": wire.lists([wire.tool(name)]),
            "tools/call": wire.calls({name: lambda arguments: wire.text("")}),
        }
    )


if __name__ == "__main__":
    main()
