"""Which lines are broken, and how: seen on a module made for it."""

from pathlib import Path

from tests.mutation.mutants import mutants

MODULE = '''"""A module."""


def ordered(first: int, second: int) -> bool:
    """Not this line."""
    if first == 3 and second is not None:
        record("größe", first)
    return first < second


class Shelf:
    def is_full(self) -> bool:
        return not self.free
'''


def test_each_function_gets_one_broken_line_that_differs_in_one_place(tmp_path: Path) -> None:
    (tmp_path / "shelf.py").write_text(MODULE, "utf-8")
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "left_out.py").write_text(MODULE, "utf-8")
    broken: dict[str, set[tuple[int, str]]] = {"ordered": set(), "Shelf.is_full": set()}
    for seed in range(300):
        chosen = mutants(tmp_path, 2, seed, ["core/"])
        assert {mutant.function for mutant in chosen} == {"ordered", "Shelf.is_full"}
        for mutant in chosen:
            compile("\n".join(replaced(mutant.line_number, mutant.broken_line)), "shelf.py", "exec")
            broken[mutant.function].add((mutant.line_number, mutant.broken_line.strip()))
    assert broken == {
        "ordered": {
            (6, "if first == 3 or second is not None:"),
            (6, "if first != 3 and second is not None:"),
            (6, "if first == 4 and second is not None:"),
            (6, "if first == 3 and second is None:"),
            (6, "if not (first == 3 and second is not None):"),
            (7, "pass"),
            (8, "return first <= second"),
            (8, "return None"),
        },
        "Shelf.is_full": {(13, "return self.free"), (13, "return None")},
    }


def test_the_same_seed_draws_the_same_mutants(tmp_path: Path) -> None:
    (tmp_path / "shelf.py").write_text(MODULE, "utf-8")
    assert mutants(tmp_path, 1, 7, []) == mutants(tmp_path, 1, 7, [])


def replaced(line_number: int, line: str) -> list[str]:
    lines = MODULE.splitlines()
    return [*lines[: line_number - 1], line, *lines[line_number:]]
