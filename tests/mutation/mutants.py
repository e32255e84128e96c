"""One broken line in a function: which lines can be broken, and how."""

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SWAPPED_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}


@dataclass(frozen=True)
class Mutant:
    """A line of a module as it stands, and as it is broken."""

    module: str
    function: str
    first_line: int
    line_number: int
    line: str
    broken_line: str

    @property
    def label(self) -> str:
        change = f"    - {self.line.strip()}\n    + {self.broken_line.strip()}"
        return f"{self.module}:{self.line_number} {self.function}\n{change}"


def mutants(source_folder: Path, count: int, seed: int, excluded: Sequence[str]) -> list[Mutant]:
    """One mutant in each of `count` functions, drawn at random from all that have a line to break."""
    by_function: list[list[Mutant]] = []
    for path in sorted(source_folder.rglob("*.py")):
        module = path.relative_to(source_folder).as_posix()
        if not module.startswith(tuple(excluded)):
            by_function += _mutants_of_module(module, path.read_text("utf-8"))
    chance = random.Random(seed)
    chosen = chance.sample(by_function, min(count, len(by_function)))
    return [_any_of(candidates, chance) for candidates in chosen]


def _any_of(candidates: Sequence[Mutant], chance: random.Random) -> Mutant:
    """A line first, then a way to break it: a line with many operators is as likely as one with a single one."""
    line = chance.choice(sorted({mutant.line_number for mutant in candidates}))
    return chance.choice([mutant for mutant in candidates if mutant.line_number == line])


def _mutants_of_module(module: str, source: str) -> Iterator[list[Mutant]]:
    lines = source.splitlines()
    for name, function in _functions(ast.parse(source)):
        first_line = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        found = []
        for line_number, start, end, replacement in _replacements(function, lines):
            line = lines[line_number - 1]
            # Columns of the syntax tree count bytes.
            data = line.encode()
            broken = (data[:start] + replacement.encode() + data[end:]).decode()
            found.append(Mutant(module, name, first_line, line_number, line, broken))
        if found:
            yield found


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions of the module and methods of its classes; a function inside a function belongs to the outer one."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{member.name}", member


# Line, first byte, byte after the last, new text.
Replacement = tuple[int, int, int, str]


def _replacements(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> Iterator[Replacement]:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    for statement in body:
        for node in _executed_nodes(statement):
            yield from _replacements_of_node(node, lines)


def _executed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it, without annotations, the arguments of `cast` and what reports only."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_comment") or isinstance(node, ast.JoinedStr | ast.Assert):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _executed_nodes(child)


def _replacements_of_node(node: ast.AST, lines: Sequence[str]) -> Iterator[Replacement]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _SWAPPED_COMPARISONS:
            yield from _between(left, right, *_SWAPPED_COMPARISONS[type(operator)], lines)
        case ast.BoolOp(op=operator, values=[left, right, *_]):
            old, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            yield from _between(left, right, old, new, lines)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _between(left, right, "+", "-", lines)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield from _between(left, right, "-", "+", lines)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if _on_one_line(node):
            yield node.lineno, node.col_offset, operand.col_offset, ""
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if _on_one_line(test):
            condition = lines[test.lineno - 1].encode()[test.col_offset : test.end_col_offset].decode()
            yield test.lineno, test.col_offset, test.end_col_offset or 0, f"not ({condition})"
        case ast.Constant(value=bool() as value) if _on_one_line(node):
            yield node.lineno, node.col_offset, node.end_col_offset or 0, str(not value)
        case ast.Constant(value=int() as value) if _on_one_line(node):
            yield node.lineno, node.col_offset, node.end_col_offset or 0, str(value + 1)
        case ast.Return(value=ast.expr() as value) if _on_one_line(node) and not _is_none(value):
            yield node.lineno, value.col_offset, node.end_col_offset or 0, "None"
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())) if _on_one_line(node):
            yield node.lineno, node.col_offset, node.end_col_offset or 0, "pass"
        case _:
            pass


def _on_one_line(node: ast.expr | ast.stmt) -> bool:
    return node.end_lineno == node.lineno


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _between(left: ast.expr, right: ast.expr, old: str, new: str, lines: Sequence[str]) -> Iterator[Replacement]:
    """The operator between two operands on the same line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    gap = lines[right.lineno - 1].encode()[left.end_col_offset : right.col_offset].decode()
    if gap.strip() == old:
        at = left.end_col_offset + gap.index(old)
        yield right.lineno, at, at + len(old), new
