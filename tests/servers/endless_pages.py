"""A server whose `tools/list` never ends: each page has one tool and a cursor to the next.

python tests/servers/endless_pages.py                   a new tool and a new cursor each time
python tests/servers/endless_pages.py --same-cursor     the same page and the same cursor each time
"""

import itertools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire


def main() -> None:
    numbers = itertools.repeat(0) if "--same-cursor" in sys.argv[1:] else itertools.count()

    def page(params: wire.Json) -> wire.Json:
        number = next(numbers)
        return {"tools": [wire.tool(f"tool_{number}")], "nextCursor": f"after-{number}"}

    wire.serve(wire.opening("endless-pages") | {"tools/list": page})


if __name__ == "__main__":
    main()
