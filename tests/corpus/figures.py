"""`python -m tests.corpus.figures`: the tables of docs/reference/scanner.md, as the scanner earns them today."""

from collections.abc import Iterator, Sequence
from typing import Final

from tests.corpus.measure import CORPUS, Scanned, by_kind, figures, samples, scanned

POISONED: Final = (
    "poisoned_dev",
    "poisoned_held_out",
    "poisoned_first_fresh",
    "poisoned_second_fresh",
    "poisoned_fresh",
)
HONEST: Final = ("honest_dev", "honest_held_out")


def results(name: str) -> list[Scanned]:
    return scanned(samples(CORPUS / f"{name}.jsonl"))


def tables() -> tuple[str, str]:
    return "\n".join(_recall()), "\n".join(_alarms())


def _recall() -> Iterator[str]:
    found = [[*by_kind(results(name))] for name in POISONED]
    yield "| poisoned with | made with | formerly held out | first fresh | second fresh | fresh |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for columns in zip(*found, strict=True):
        told = [f"{of_kind.found} of {of_kind.tools}, {of_kind.hard} hard" for _, of_kind, _ in columns]
        yield _row(columns[0][0].value, told)
    totals = [
        (
            sum(of_kind.found for _, of_kind, _ in kinds),
            sum(of_kind.tools for _, of_kind, _ in kinds),
            sum(of_kind.hard for _, of_kind, _ in kinds),
        )
        for kinds in found
    ]
    yield _row("**all**", [f"**{some} of {all_} ({some / all_:.1%}), {hard} hard**" for some, all_, hard in totals])


def _alarms() -> Iterator[str]:
    yield "| honest tools | how many | hard | soft only |"
    yield "| --- | --- | --- | --- |"
    for name, told in zip(HONEST, ("made with", "formerly held out"), strict=True):
        total = figures(results(name))
        yield _row(told, [str(total.tools), str(total.hard), str(total.found - total.hard)])


def _row(first: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join((first, *cells))} |"


if __name__ == "__main__":
    print("\n\n".join(tables()))
