"""A server that answers `tools/list` as many seconds late as asked for, and everything else at once meanwhile.

python tests/servers/slow_list.py 30
"""

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire


def echo(arguments: wire.Json) -> wire.Json:
    return wire.text(str(arguments.get("text", "")))


def main() -> None:
    delay = float(sys.argv[1])
    answers = wire.opening("slow-list") | {
        "tools/list": wire.lists([wire.tool("echo", "Give the text back.")]),
        "tools/call": wire.calls({"echo": echo}),
    }
    for request in wire.messages():
        response = wire.answer(request, answers)
        if response is None:
            continue
        if request["method"] == "tools/list":
            late = threading.Timer(delay, wire.write, [response])
            late.daemon = True
            late.start()
        else:
            wire.write(response)


if __name__ == "__main__":
    main()
