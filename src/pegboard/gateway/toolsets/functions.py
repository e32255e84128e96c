"""The functions that a manifest names, looked for in the text of their modules: nothing is run to find them."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pegboard.config.problem import FileProblem
from pegboard.core.python_text import parse_module
from pegboard.core.reference import closest_names

_PROBLEM_WITH_PLACE: Final = re.compile(r"([^\s:]+):(\d+): (.+)", re.DOTALL)

if TYPE_CHECKING:
    from pegboard.config.manifest import Manifest


def check_functions(manifest: "Manifest", folder: Path) -> tuple[FileProblem, ...]:
    """What is known to be wrong without running anything: text that is no Python, and functions that are not there."""
    files = {entry.module_files: None for entry in manifest.tools}
    found = {names: _top_names(folder, names) for names in files}
    problems = [relative_problem(manifest, each) for each in found.values() if isinstance(each, FileProblem)]
    for place, entry in enumerate(manifest.tools):
        names = found[entry.module_files]
        function = entry.entrypoint.partition(":")[2].partition(".")[0]
        if names is None or isinstance(names, FileProblem) or function in names:
            continue
        near = closest_names(function, names)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else " Write it, or correct the name."
        what = f"there is no function {function!r} in {_file(folder, entry.module_files)}.{hint}"
        problems.append(FileProblem(manifest.file, entry.line, f"tools[{place}].entrypoint", what))
    return tuple(problems)


def problem_at(manifest: "Manifest", problem: str) -> FileProblem:
    """What a worker has against the toolset's files, with the place that it tells, if it tells one."""
    if (placed := _PROBLEM_WITH_PLACE.fullmatch(problem)) is not None:
        return relative_problem(manifest, FileProblem(placed[1], int(placed[2]), "", placed[3]))
    return FileProblem(manifest.file, 0, "", problem.removeprefix("toolset.yaml: "))


def relative_problem(manifest: "Manifest", problem: FileProblem) -> FileProblem:
    """A problem of one of the toolset's files, by the name that a person knows: from the folder that they named."""
    root = manifest.file.rpartition("/")[0]
    return replace(problem, file=f"{root}/{problem.file}") if root else problem


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function as its text has it. What its module makes of it when it runs may be something else."""

    description: str
    parameters: tuple[str, ...]
    requires_confirmation: bool | None = None


def read_function_text(folder: Path, names: tuple[str, str], function: str) -> FunctionText | None:
    """`None` where the text does not tell: the function is made elsewhere, or by running something."""
    from pegboard.tools.words import parse_docstring

    try:
        body = parse_module((folder / _file(folder, names)).read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    found = [each for each in body if isinstance(each, kinds) and each.name == function]
    if len(found) != 1:
        return None
    (each,) = found
    said = _decorator_options(each.decorator_list)
    described, confirms = said.get("description"), said.get("requires_confirmation")
    description = (
        described if isinstance(described, str) else parse_docstring(ast.get_docstring(each) or "").description
    )
    taken = (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)
    return FunctionText(
        description,
        tuple(one.arg for one in taken if not _is_context(one.annotation)),
        confirms if isinstance(confirms, bool) else None,
    )


def _decorator_options(decorators: Iterable[ast.expr]) -> dict[str | None, object]:
    """What `@tool(description="…", requires_confirmation=True)` says of it, as far as it is written out."""
    marks = [mark for mark in decorators if isinstance(mark, ast.Call)]
    return {
        word.arg: word.value.value for mark in marks for word in mark.keywords if isinstance(word.value, ast.Constant)
    }


def _is_context(annotation: ast.expr | None) -> bool:
    return annotation is not None and "ToolContext" in ast.unparse(annotation)


def _file(folder: Path, names: tuple[str, str]) -> str:
    return next((name for name in names if (folder / name).is_file()), names[0])


def _top_names(folder: Path, names: tuple[str, str]) -> frozenset[str] | FileProblem | None:
    """The names that a module gives itself; `None` where only running it could tell."""
    file = _file(folder, names)
    try:
        tree = parse_module((folder / file).read_bytes())
    except SyntaxError as error:
        return FileProblem(file, error.lineno or 0, "", f"this is no Python: {error.msg}.")
    except (OSError, ValueError, RecursionError, MemoryError):
        return None
    given = frozenset(_assigned_names(tree.body))
    return None if "*" in given or "__getattr__" in given else given


def _assigned_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.Import(names) | ast.ImportFrom(names=names):
                yield from ((each.asname or each.name).partition(".")[0] for each in names)
            case ast.Assign(targets):
                yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            case ast.AnnAssign(target=ast.Name(id)):
                yield id
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                # Whichever way it goes, these are names that the module may have.
                inner = [node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement]
                yield from _assigned_names(inner)
            case _:
                pass
