"""`python -m tests.again`: the few tests that failed, once more and alone.

A machine that shares its cores may be too slow for a test that waits for other processes. What is broken fails again.
Both runs are told, and more than a few failures are not looked at twice.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MOST: Final = 3
LAST: Final = Path(".pytest_cache", "v", "cache", "lastfailed")


def again(arguments: Sequence[str], last: Path = LAST) -> int:
    failed = json.loads(last.read_text("utf-8")) if last.exists() else {}
    if not 0 < len(failed) <= MOST:
        print(f"{len(failed)} tests failed. Up to {MOST} would be run once more.", flush=True)
        return 1
    print(f"{len(failed)} failed, and {'is' if len(failed) == 1 else 'are'} run once more, alone:", flush=True)
    print(*failed, sep="\n", flush=True)
    words = ["-m", "pytest", "-q", "--last-failed", "--last-failed-no-failures", "none", *arguments]
    return subprocess.run([sys.executable, *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(again(sys.argv[1:]))
