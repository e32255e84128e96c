"""A server that works, but leaves only when killed: it ignores SIGTERM, SIGINT, SIGHUP and the end of its input.

After ten minutes the kernel ends it, so that a test run cut short leaves nothing behind for ever.
"""

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire


def whoami(arguments: wire.Json) -> wire.Json:
    return wire.text(str(os.getpid()))


def main() -> None:
    signal.alarm(600)
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    wire.serve(
        wire.opening("stubborn")
        | {
            "tools/list": wire.lists([wire.tool("whoami", "The process id of this server.")]),
            "tools/call": wire.calls({"whoami": whoami}),
        }
    )
    wire.complain("stubborn: the input is closed, staying anyway")
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
