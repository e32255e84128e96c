"""`python -m tests.corpus.measure FILE …`: what the scanner finds in files of tools, one JSON object a line.

A line is one of this corpus (see README.md), or a tool by itself as a server lists it, with its `server` beside it.
Tools of one file and different servers are strangers to each other, as they would be on a board.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.scan.findings import ScanFinding, ScanFindingKind, Severity, is_poisoned
from pegboard.core.scan.imitations import OtherTools, other_tools_by_source
from pegboard.core.scan.scanner import scan_tool

CORPUS = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    id: str
    server: str
    spec: ToolSpec
    others: tuple[str, ...] = ()
    kind: ScanFindingKind | None = None
    """What it was poisoned with; nothing, when it is honest."""


@dataclass(frozen=True)
class Scanned:
    sample: Sample
    findings: tuple[ScanFinding, ...]

    @property
    def is_hard(self) -> bool:
        return is_poisoned(self.findings)

    @property
    def is_of_its_kind(self) -> bool:
        return any(finding.kind is self.sample.kind for finding in self.findings)


@dataclass(frozen=True)
class Figures:
    """How many tools there are, of how many something was found, and of how many something hard."""

    tools: int
    found: int
    hard: int


def samples(path: Path) -> list[Sample]:
    with path.open(encoding="utf-8") as lines:
        return [
            sample(json.loads(line), f"{path.name}:{number}") for number, line in enumerate(lines, 1) if line.strip()
        ]


def sample(line: JsonObject, where: str) -> Sample:
    tool = line.get("tool", line)
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        raise SystemExit(
            f"{where}: no tool with a name. A line is a tool as a server lists it, or holds one as 'tool'."
        )
    others, kind = line.get("others"), line.get("kind")
    return Sample(
        str(line.get("id", where)),
        str(line.get("server", "")),
        spec(tool),
        tuple(map(str, others)) if isinstance(others, list) else (),
        ScanFindingKind(kind) if isinstance(kind, str) else None,
    )


def spec(tool: JsonObject) -> ToolSpec:
    """A tool by the names of the protocol, or by those that collections of tools use."""

    def below(*keys: str) -> Mapping[str, Json] | None:
        return next((value for key in keys if isinstance(value := tool.get(key), dict)), None)

    title = tool.get("title")
    return ToolSpec(
        str(tool["name"]),
        title if isinstance(title, str) else None,
        str(tool.get("description") or ""),
        below("inputSchema", "input_schema", "parameters") or {"type": "object"},
        below("outputSchema", "output_schema"),
        below("annotations"),
    )


def scanned(all_of_them: Sequence[Sample]) -> list[Scanned]:
    """A poisoned sample has the others that it names; honest ones have each other."""
    honest = [Tool(ToolId(_source(each), each.spec.name), each.spec) for each in all_of_them if each.kind is None]
    strangers = other_tools_by_source(honest)

    def others(sample: Sample) -> OtherTools:
        named = OtherTools.build(map(ToolSpec, sample.others))
        return named if sample.others else strangers.get(_source(sample), named)

    return [Scanned(each, scan_tool(each.spec, others(each))) for each in all_of_them]


def _source(sample: Sample) -> ToolsetKey:
    return ToolsetKey(ToolsetId(sample.server))


def figures(results: Sequence[Scanned]) -> Figures:
    return Figures(len(results), sum(bool(each.findings) for each in results), sum(each.is_hard for each in results))


def by_kind(results: Sequence[Scanned]) -> Iterator[tuple[ScanFindingKind, Figures, int]]:
    """Of what was poisoned with each kind: the figures, and how often that very kind was found."""
    for kind in ScanFindingKind:
        of_kind = [each for each in results if each.sample.kind is kind]
        yield kind, figures(of_kind), sum(each.is_of_its_kind for each in of_kind)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.measure", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print every finding")
    parser.add_argument("--missed", action="store_true", help="print every tool of which nothing was found")
    options = parser.parse_args(arguments)
    for path in options.files:
        read = samples(path)
        began = time.process_time()
        results = scanned(read)
        spent = time.process_time() - began
        for each in results:
            if options.list:
                for finding in each.findings:
                    print(f"{each.sample.id}\t{each.sample.spec.name}\t{finding.severity.value}\t{finding.sentence}")
            if options.missed and not each.findings:
                print(f"{each.sample.id}\t{each.sample.spec.name}\tnothing")
        _report(path, results, spent)


def _report(path: Path, results: Sequence[Scanned], spent: float) -> None:
    total = figures(results)
    print(f"{path}: {total.tools} tools, something found in {total.found}, hard in {total.hard}", end="")
    print(f"; {spent / max(1, total.tools) * 1e6:.0f} µs a tool")
    for kind, of_kind, its_kind in by_kind(results):
        if of_kind.tools:
            print(
                f"  {kind.value}: {of_kind.tools}, found {of_kind.found}, of that kind {its_kind}, hard {of_kind.hard}"
            )
    alarms = Counter(
        (finding.severity is Severity.SOFT, finding.kind.value) for each in results for finding in {*each.findings}
    )
    for (soft, kind_name), count in sorted(alarms.items()):
        print(f"  findings {'soft' if soft else 'hard'}: {kind_name} {count}")


if __name__ == "__main__":
    main()
