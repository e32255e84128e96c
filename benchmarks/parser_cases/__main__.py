"""`python -m benchmarks.parser_cases FILE [--json] [--format NAME] [--half HALF] [--seed N]`."""

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import table
from benchmarks.parser_cases.cases import HALVES, BadFileError, Case, read
from benchmarks.parser_cases.invariants import broken_rule, chunks, streamed, whole
from benchmarks.parser_cases.judging import NAMELESS, PROBE, plain, set_aside
from benchmarks.parser_cases.verdicts import Verdict, met, why
from pegboard.prompts.formats import FORMATS, Format, find_format
from pegboard.prompts.scanner import collect_output

COLUMNS = ("records", "set aside", "calls", "streamed", "text", "thinking", "invariants")


def judged(case: Case, format: Format, aside: str | None, chance: random.Random) -> Verdict:
    thinking = case.in_thinking(format)
    got = collect_output(whole(format, case.text, case.tools, thinking))
    parts = case.chunks or tuple(chunks(case.text, chance))
    cut = collect_output(streamed(format, parts, case.tools, thinking))
    expected = case.expected
    said = plain(got.text), plain(got.text + "".join(broken.raw for broken in got.broken_calls))
    return Verdict(
        case=case,
        aside=aside,
        calls=met(got.calls, expected.calls),
        streamed=met(cut.calls, expected.calls),
        text=expected.content is None or plain(expected.content) in said,
        thinking=expected.thinking is None or plain(expected.thinking) == plain(got.thinking),
        broke=broken_rule(format, case.text, case.tools, thinking, chance),
        got=got,
    )


def failure(verdict: Verdict) -> dict[str, object]:
    case, got = verdict.case, verdict.got
    return {
        "number": case.number,
        "format": case.format,
        "source": case.source,
        "reader": case.reader,
        "note": case.note,
        "set_aside": verdict.aside,
        "reason": why(verdict),
        "text": case.text,
        "expected": [list(call) for call in case.expected.calls],
        "calls": [[call.name, call.arguments] for call in got.calls],
        "broken": [asdict(broken) for broken in got.broken_calls],
        "complete": verdict.calls,
        "streamed": verdict.streamed,
        "invariant": verdict.broke,
    }


def counted(verdicts: Sequence[Verdict]) -> Counter[str]:
    row: Counter[str] = Counter()
    for verdict in verdicts:
        row["records"] += 1
        row["invariants"] += verdict.broke is None
        if verdict.aside:
            row["set aside"] += 1
            continue
        row["calls"] += verdict.calls
        row["streamed"] += verdict.streamed
        row["text"] += verdict.text
        row["thinking"] += verdict.thinking
    return row


def by_format(verdicts: Sequence[Verdict]) -> Mapping[str, Counter[str]]:
    names = sorted({verdict.case.format for verdict in verdicts})
    return {name: counted([one for one in verdicts if one.case.format == name]) for name in names}


def rows(verdicts: Sequence[Verdict]) -> list[list[str]]:
    told = [(name, row) for name, row in by_format(verdicts).items()] + [("all", counted(verdicts))]
    return [[name, *(str(row[column]) for column in COLUMNS), share(row)] for name, row in told]


def share(row: Counter[str]) -> str:
    judged = row["records"] - row["set aside"]
    return f"{100 * row['calls'] / judged:.1f} %" if judged else "-"


def share_with_probes(verdicts: Sequence[Verdict]) -> str:
    """With probes and nameless calls among those judged."""
    rest = [one for one in verdicts if one.aside in (None, PROBE, NAMELESS)]
    return f"{100 * sum(one.calls for one in rest) / len(rest):.1f} %" if rest else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parser_cases", description=__doc__)
    parser.add_argument("file", type=Path, help="recorded cases: a JSON array")
    parser.add_argument("--json", action="store_true", help="everything as JSON, each failure with what was read")
    parser.add_argument("--format", action="append", help="only these formats (a regular expression each)")
    parser.add_argument("--half", choices=HALVES, help="only one half of the cases, split by a hash of format and text")
    parser.add_argument("--seed", type=int, default=7, help="of the random chunks")
    chosen = parser.parse_args(arguments)
    chance = random.Random(chosen.seed)
    try:
        cases = read(chosen.file)
    except BadFileError as error:
        print(error, file=sys.stderr)
        return 2
    aside = set_aside(cases)
    verdicts: list[Verdict] = []
    unknown: Counter[str] = Counter()
    for case in cases:
        if chosen.format and not any(re.fullmatch(pattern, case.format) for pattern in chosen.format):
            continue
        if chosen.half and case.half != chosen.half:
            continue
        format = find_format(case.format)
        unknown[case.format] += format is None
        # What nobody knows is read by what reads anything.
        verdicts.append(judged(case, format or FORMATS["pipeline_default"], aside.get(case.number), chance))
    missed = [one for one in verdicts if one.broke or (one.aside is None and not (one.calls and one.streamed))]
    if chosen.json:
        report = {
            "formats": {name: dict(row) for name, row in by_format(verdicts).items()},
            "all": dict(counted(verdicts)),
            "unknown_formats": {name: count for name, count in unknown.items() if count},
            "calls_of_judged": share(counted(verdicts)),
            "calls_of_all_but_contradicted": share_with_probes(verdicts),
            "set_aside": dict(Counter(one.aside for one in verdicts if one.aside)),
            "failures": [failure(one) for one in missed],
        }
        print(json.dumps(report, ensure_ascii=False, indent=1))
        return 0
    print(table.render(("format", *COLUMNS, "calls of judged"), rows(verdicts)))
    for reason, count in Counter(one.aside for one in verdicts if one.aside).most_common():
        print(f"set aside {count}: {reason}")
    print(f"calls equal in {share(counted(verdicts))} of the judged")
    print(f"calls equal in {share_with_probes(verdicts)} with probes and nameless calls among them")
    for name, count in unknown.most_common():
        if count:
            print(f"no such format: {name}, {count} records, read by pipeline_default")
    for one in missed:
        told = failure(one)
        print(f"\n{told['format']} #{told['number']} {told['source']} [{told['note']}]\n  {told['reason']}")
        print(f"  text      {str(told['text'])[:600]!r}")
        for word in ("expected", "calls"):
            print(f"  {word:9} {str(told[word])[:400]}")
        for broken in one.got.broken_calls:
            print(f"  broken    {broken.raw[:200]!r}: {broken.why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
