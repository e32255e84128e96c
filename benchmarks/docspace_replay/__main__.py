"""`python -m benchmarks.docspace_replay FILE`: recorded calls of DocSpace's MCP server, made again through Pegboard."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from .differences import DIFFERENCES
from .gateways import serving
from .recordings import BadRecordingsError, read
from .replay import replayed
from .report import as_json, as_text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.docspace_replay",
        description="Replays recorded calls through the gateway against a server that answers as recorded, and tells "
        "per tool what matched, what differs on purpose and what differs. Ends with 1 when something differs.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a JSON list of recordings")
    parser.add_argument("--tool", action="append", metavar="NAME", help="only calls of this tool; may be given again")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    try:
        recordings = read(chosen.file)
    except BadRecordingsError as error:
        parser.exit(2, f"{error}\n")
    if chosen.tool:
        known = sorted({each.tool for each in recordings})
        recordings = [each for each in recordings if each.tool in chosen.tool]
        if not recordings:
            parser.exit(2, f"{chosen.file}: no call of {', '.join(chosen.tool)}. It has calls of {', '.join(known)}.\n")
    verdicts = anyio.run(replayed, recordings, serving, lambda text: print(text, file=sys.stderr, flush=True))
    why = {difference.name: difference.why for difference in DIFFERENCES}
    if chosen.json:
        print(json.dumps(as_json(str(chosen.file), verdicts, why), indent=2, ensure_ascii=False))
    else:
        print(as_text(str(chosen.file), verdicts, why))
    return 1 if any(each.differs for each in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
