"""`pegboard`, with a record of the functions that its event loop enters from the signal SIGUSR1 on:
`python -m benchmarks.gateway.trace_program FILE serve …`. The file is written when it ends."""

import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from pegboard.__main__ import main as pegboard

PACKAGE = "pegboard."


def main() -> None:
    written = Path(sys.argv.pop(1))
    events: list[tuple[int, str, str]] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and (module := str(frame.f_globals.get("__name__"))).startswith(PACKAGE):
            events.append((time.monotonic_ns(), module.removeprefix(PACKAGE), frame.f_code.co_qualname))

    signal.signal(signal.SIGUSR1, lambda *_: sys.setprofile(note))
    try:
        pegboard()
    finally:
        sys.setprofile(None)
        written.write_text(json.dumps(events))


if __name__ == "__main__":
    main()
