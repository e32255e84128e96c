"""`python -m benchmarks.retrieval --data DIR`: how well tools are found, on any sets of tools and requests.

DIR is a set, or holds sets: folders with `tools.jsonl` and `queries.jsonl`. Pegboard's own search is asked over a real
board, FastMCP's BM25 search on the same tools and requests in the same run.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.retrieval.meaning import hybrid_answers, model_in
from benchmarks.retrieval.ours import Hung, answers
from benchmarks.retrieval.peer import peer_answers
from benchmarks.retrieval.report import HYBRID, LEXICAL, PEER, Measured, as_json, as_text
from benchmarks.retrieval.scoring import Answer, Score, score
from benchmarks.retrieval.sets import ToolSet, sets_in
from benchmarks.timing import positive
from pegboard.gateway.search import ToolSearch


def measured(one: ToolSet, semantic: Path | Unavailable | None, with_peer: bool) -> Measured:
    """By meaning too where the model's data directory is given, or why there is none."""
    if not one.tools or not one.requests:
        return Measured(one, {})
    queries = [request.query for request in one.requests]

    def scored(told: Sequence[Answer] | Unavailable) -> Score | Unavailable:
        if isinstance(told, Unavailable):
            return told
        return score(told, [request.relevant for request in one.requests])

    scores = {PEER: scored(peer_answers(one))} if with_peer else {}
    hung = Hung(one.tools)
    scores[LEXICAL] = scored(anyio.run(answers, hung, ToolSearch(hung.board), queries))
    if semantic is not None:
        scores[HYBRID] = scored(anyio.run(hybrid_answers, hung, semantic, queries))
    return Measured(one, scores)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description="How well tools are found.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="a set, or a folder of sets")
    parser.add_argument("--semantic", action="store_true", help="also by meaning; the model is made once, if need be")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where `pegboard search setup` made the model")
    parser.add_argument("--queries", type=positive, metavar="N", help="the first N requests of each set only")
    parser.add_argument("--no-peer", action="store_true", help="without FastMCP")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    sets = sets_in(chosen.data)
    if not sets:
        print(f"{chosen.data}: no set is here. A set is a folder with tools.jsonl and queries.jsonl.", file=sys.stderr)
        return 2
    semantic = anyio.run(model_in, chosen.data_dir) if chosen.semantic else None
    done: list[Measured] = []
    for one in sets:
        asked = one if chosen.queries is None else replace(one, requests=one.requests[: chosen.queries])
        size = f"{len(one.tools)} tools, {len(asked.requests)} requests"
        print(f"measuring {one.name}: {size} …", file=sys.stderr, flush=True)
        done.append(measured(asked, semantic, not chosen.no_peer))
    print(json.dumps(as_json(str(chosen.data), done), indent=2, ensure_ascii=False) if chosen.json else as_text(done))
    return 0 if any(each.is_measured for each in done) else 1


if __name__ == "__main__":
    sys.exit(main())
