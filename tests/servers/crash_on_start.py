"""A server that cannot start: three lines on standard error, then exit code 3."""

import sys

for line in (
    "crash_on_start: reading settings",
    "crash_on_start: DATABASE_URL is not set",
    "crash_on_start: giving up",
):
    print(line, file=sys.stderr, flush=True)
sys.exit(3)
