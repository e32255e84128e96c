"""A server that answers rightly amid an endless flood: noise and log messages on stdout, noise on stderr.

python tests/servers/flood.py                       as fast as the reader takes it
python tests/servers/flood.py --pause 0.01          a rest of so many seconds after each hundred lines
"""

import argparse
import json
import os
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

LOG = json.dumps(
    {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "info", "data": "still here, still talking"},
    }
).encode()
NOISE = b"[INFO] this line is no JSON-RPC at all \xe2\x80\xa6 and says nothing\n"
BURST = (NOISE + LOG + b"\n") * 50


def talk(answers: "SimpleQueue[bytes]", pause: float) -> None:
    """One writer for the noise and the answers, so that no answer is cut in two or waits behind more than one burst."""
    while True:
        try:
            while True:
                wire.write_bytes(answers.get_nowait())
        except Empty:
            wire.write_bytes(BURST)
            time.sleep(pause)


def mutter(pause: float) -> None:
    # A thread of its own: a standard error that nobody reads blocks here and must not hold up the answers.
    while True:
        os.write(2, NOISE * 50)
        time.sleep(pause)


def echo(arguments: wire.Json) -> wire.Json:
    return wire.text(str(arguments.get("text", "")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pause", type=float, default=0.0)
    pause: float = parser.parse_args().pause
    queue: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=talk, args=(queue, pause), daemon=True).start()
    threading.Thread(target=mutter, args=(pause,), daemon=True).start()
    answers = wire.opening("flood") | {
        "tools/list": wire.lists([wire.tool("echo", "Give the text back.")]),
        "tools/call": wire.calls({"echo": echo}),
    }
    for request in wire.messages():
        response = wire.answer(request, answers)
        if response is not None:
            queue.put(json.dumps(response).encode() + b"\n")
    # The writers may be blocked for ever on a reader that is gone.
    os._exit(0)


if __name__ == "__main__":
    main()
