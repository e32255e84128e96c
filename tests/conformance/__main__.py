"""Runs the conformance suite: against our everything-server alone, and through a gateway in front of it; and, the suite
being the server, against a client of ours alone, and through a gateway.

Ends with 1 when a check falls short that `known.yaml` does not name, or when one that it names does not any more.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import anyio
from tests.conformance import record, tables
from tests.conformance.known import known, surprises
from tests.conformance.running import run, say
from tests.conformance.suite import VERSIONS, command
from tests.conformance.ways import WAYS
from tests.support.node import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    names = [way.name for way in WAYS]
    parser.add_argument("--way", action="append", choices=names, help="only this way; may be given again")
    parser.add_argument("--version", action="append", choices=VERSIONS, help="only this version of the protocol")
    parser.add_argument("--required", action="store_true", help="also what 2026-07-28 required when it was released")
    parser.add_argument("--json", action="store_true", help="the record as JSON instead of tables")
    parser.add_argument("--record", action="store_true", help="write what was run into the record, and the page")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what the suite writes, in a new folder")
    chosen = parser.parse_args()
    ways = [way for way in WAYS if not chosen.way or way.name in chosen.way]
    versions = [version for version in VERSIONS if not chosen.version or version in chosen.version]
    command()
    with tempfile.TemporaryDirectory(prefix="conformance-") as temporary:
        folder = chosen.keep or Path(temporary) / "results"
        found = anyio.run(lambda: run(ways, versions, folder, known(), required=chosen.required))
    if chosen.json:
        print(record.as_json(found), end="")
    else:
        for clients in (False, True):
            shown = [way.name for way in WAYS if way.clients is clients and way.name in found.ways]
            for version in versions if shown else ():
                print(f"\n{version}\n{tables.table(tables.scenarios(found, version, shown))}")
    if chosen.record:
        whole = record.renewed(record.loaded(), found)
        record.FILE.write_text(record.as_json(whole), "utf-8")
        (ROOT / tables.PAGE_PATH).write_text(tables.page(whole, known()), "utf-8")
    unlike = [each for run in found.runs for each in surprises(run.way, run.version, run.short, known())]
    for surprise in unlike:
        say(surprise.told)
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
