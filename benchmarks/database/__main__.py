"""`python -m benchmarks.database`: what guarded statements cost, and how well tables are found for questions."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import anyio

from benchmarks.database import embedded, running, searching, servers, thousands
from benchmarks.database.sales import Measurable
from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.retrieval.meaning import model_in
from benchmarks.timing import positive

_ENGINES: Mapping[str, Callable[[Path], AbstractAsyncContextManager[Measurable | Unavailable]]] = {
    "SQLite": embedded.sqlite,
    "DuckDB": embedded.duckdb,
    "PostgreSQL": servers.postgresql,
    "PostgreSQL, some closed": partial(servers.postgresql, is_closed=True),
    "MariaDB": servers.mariadb,
}


async def _ran(rounds: int) -> list[running.Ran | tuple[str, Unavailable]]:
    found: list[running.Ran | tuple[str, Unavailable]] = []
    for name, opened in _ENGINES.items():
        with tempfile.TemporaryDirectory() as folder:
            async with opened(Path(folder)) as one:
                found.append((name, one) if isinstance(one, Unavailable) else await running.ran(one, rounds))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.database", description="What databases cost, and how well their tables are found."
    )
    parser.add_argument("--rounds", type=positive, default=15, help="samples of each, the median counts (15)")
    parser.add_argument("--semantic", action="store_true", help="also by meaning; the model is made once, if need be")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where `pegboard search setup` made the model")
    parser.add_argument("--search-only", action="store_true", help="only how well tables are found")
    parser.add_argument("--thousands", action="store_true", help="also the tables of servers with 5,000; some minutes")
    parser.add_argument("--misses", action="store_true", help="also the questions that found none of their tables")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args(arguments)
    misses: dict[str, list[str]] = {"lexical": [], "hybrid": []}
    hits: list[searching.Hits | Unavailable] = [anyio.run(searching.lexical, misses["lexical"])]
    if chosen.semantic:
        model = anyio.run(model_in, chosen.data_dir)
        hits.append(anyio.run(searching.hybrid, model, misses["hybrid"]))
    else:
        hits.append(Unavailable("by meaning only with --semantic, which makes the model if need be"))
    many = searching.indexed(max(1, chosen.rounds // 5))
    ran = [] if chosen.search_only else anyio.run(_ran, chosen.rounds)
    full = anyio.run(thousands.thousands) if chosen.thousands else []
    if chosen.json:
        told = {
            "search": [each.reason if isinstance(each, Unavailable) else each.as_json() for each in hits],
            "indexed": many.as_json(),
            "thousands": [
                each.as_json()
                if isinstance(each, thousands.Thousands)
                else {"engine": each[0], "missing": each[1].reason}
                for each in full
            ],
            "engines": [
                each.as_json() if isinstance(each, running.Ran) else {"engine": each[0], "missing": each[1].reason}
                for each in ran
            ],
            "misses": misses,
        }
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return 0
    print(searching.as_text(hits, many))
    if full:
        print(f"\n{thousands.as_text(full)}")
    if ran:
        print(f"\n{running.as_text(ran)}")
    if chosen.misses:
        for ranker, missed in misses.items():
            print(f"\nnot found, {ranker}: {len(missed)}", *missed, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
