"""A server that leaves as soon as its input closes, but had children who stay: one in its group, one that left it.

Both ignore every request to end; the kernel ends them after ten minutes. `family` tells their process ids.
"""

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "servers"))

if TYPE_CHECKING:
    from tests.servers import wire
else:
    import wire

STAY = (
    "import signal; signal.alarm(600); "
    "[signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]; "
    "print('here', flush=True); signal.pause()"
)


def child(*, leaves_the_group: bool) -> int:
    process = subprocess.Popen(
        [sys.executable, "-c", STAY],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=leaves_the_group,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process.pid


def main() -> None:
    signal.alarm(600)
    pids = [child(leaves_the_group=False), child(leaves_the_group=True)]
    wire.serve(
        wire.opening("family")
        | {
            "tools/list": wire.lists([wire.tool("family")]),
            "tools/call": wire.calls({"family": lambda arguments: wire.text(" ".join(map(str, pids)))}),
        }
    )


if __name__ == "__main__":
    main()
