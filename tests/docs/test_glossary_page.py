"""The glossary names what is in the source, and the source does not use the words that the glossary replaces."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import page

SOURCE = Path(__file__).parents[2] / "src/pegboard"


class Row(NamedTuple):
    term: str
    meaning: str
    place: str
    replaced: tuple[str, ...]


def rows(text: str) -> list[Row]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [
        Row(term, meaning, place.strip("`"), tuple(re.findall(r"\w+", replaced)))
        for term, meaning, place, replaced in cells
        if term != "term" and not term.startswith("---")
    ]


ROWS = rows(page("docs/reference/glossary.md").text)


def exists(place: str) -> bool:
    """A package, a module, or a top-level name of one."""
    path = SOURCE / place.replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    module, _, name = place.rpartition(".")
    owner = (SOURCE / module.replace(".", "/")).with_suffix(".py")
    return owner.is_file() and name in top_level_names(ast.parse(owner.read_text("utf-8")))


def top_level_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
                yield name


def words(name: str) -> list[str]:
    """The words of a name: `SignInService` and `sign_in_service` have the same ones."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def names_with(replaced: Iterable[str], names: Iterable[str]) -> list[str]:
    forbidden = {*replaced}
    return [name for name in names if forbidden & {*words(name)}]


def test_each_term_stands_once_with_a_meaning() -> None:
    assert [term for term, count in Counter(row.term for row in ROWS).items() if count > 1] == []
    assert [row.term for row in ROWS if not row.meaning] == []
    assert len(ROWS) > 50


def test_each_place_in_the_code_exists() -> None:
    assert [row.place for row in ROWS if row.place and not exists(row.place)] == []


def test_the_source_does_not_use_replaced_words_in_names() -> None:
    paths = [*SOURCE.rglob("*.py")]
    names = [path.stem for path in paths]
    for path in paths:
        names += top_level_names(ast.parse(path.read_text("utf-8")))
    assert names_with((word for row in ROWS for word in row.replaced), names) == []


def test_a_replaced_word_is_found_in_any_part_of_a_name() -> None:
    names = ["ChangeBell", "ring_the_bell", "MAX_BELLS", "BELL_TIMEOUT", "label", "bell"]
    assert names_with(["bell"], names) == ["ChangeBell", "ring_the_bell", "BELL_TIMEOUT", "bell"]
    assert not exists("gateway.signals.Bell")
    assert not exists("gateway.bells")
