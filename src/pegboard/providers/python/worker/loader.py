"""A toolset's functions, found by their entrypoints; and why one cannot be, with its file and line."""

import importlib
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pegboard.tools import FunctionTool, NotAToolError, describe_function

_MANIFEST_NAME: Final = "toolset.yaml"


@dataclass(frozen=True)
class WorkerEntry:
    """One entry of the manifest, as the gateway sent it."""

    name: str
    entrypoint: str
    title: str | None
    description: str | None


class EntryLoadError(Exception):
    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def load_functions(folder: Path, wanted: Sequence[WorkerEntry]) -> tuple[list[FunctionTool], list[str]]:
    """The functions in order, and what is wrong: with a problem, the functions are not all there."""
    # Later than our own imports: a file of the toolset must not take the place of what this program needs.
    sys.path.insert(0, str(folder))
    # What lies in the folder is what its author put there.
    sys.dont_write_bytecode = True
    modules: dict[str, ModuleType | EntryLoadError] = {}
    functions, problems = [], []
    for entry in wanted:
        name, _, path = entry.entrypoint.partition(":")
        if name not in modules:
            modules[name] = _import_module(folder, name, entry)
        module = modules[name]
        try:
            if isinstance(module, EntryLoadError):
                raise module
            functions.append(_load_function(folder, module, path, entry))
        except EntryLoadError as error:
            # One broken module is one problem, however many of its functions are wanted.
            if error.problem not in problems:
                problems.append(error.problem)
    return functions, problems


def _import_module(folder: Path, name: str, entry: WorkerEntry) -> ModuleType | EntryLoadError:
    file = folder / Path(*name.split("."))
    if not file.with_suffix(".py").is_file() and not (file / "__init__.py").is_file():
        near = get_close_matches(name, [*_module_names(folder)], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return EntryLoadError(
            f"{_MANIFEST_NAME}: tool {entry.name!r}: there is no module {name!r} among the toolset's files.{hint}"
        )
    try:
        module = importlib.import_module(name)
    except SyntaxError as error:
        where = f"{_relative_path(folder, error.filename or name)}:{error.lineno or 1}"
        return EntryLoadError(f"{where}: {error.msg}. Python cannot read this file.")
    except BaseException as error:  # noqa: BLE001 - whatever a module does when it is imported is its author's to know
        traceback.print_exc()
        return EntryLoadError(f"{_error_location(folder, error, name)}: {_import_error_text(error)}")
    found = getattr(module, "__file__", None)
    if found is None or not Path(found).is_relative_to(folder):
        return EntryLoadError(
            f"{_relative_path(folder, str(file))}.py:1: another module is called {name!r} as well, and that one is "
            "loaded "
            f"already. Rename the file."
        )
    return module


def _load_function(folder: Path, module: ModuleType, path: str, entry: WorkerEntry) -> FunctionTool:
    function: Any = module
    for part in path.split("."):
        if not hasattr(function, part):
            names = [name for name in vars(module) if not name.startswith("_")]
            near = get_close_matches(path, names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            where = f"{_relative_path(folder, module.__file__ or '')}:1"
            raise EntryLoadError(f"{where}: there is no function {path!r}, which tool {entry.name!r} is.{hint}")
        function = getattr(function, part)
    try:
        made = describe_function(function, name=entry.name, description=entry.description)
    except NotAToolError as error:
        raise EntryLoadError(f"{_function_location(folder, module, function, path)}: {error.what}") from None
    except Exception as error:  # noqa: BLE001 - annotations are objects of its author, and do what they like
        traceback.print_exc()
        what = f"it cannot be described: {_one_line_error(error)}"
        raise EntryLoadError(f"{_function_location(folder, module, function, path)}: {what}") from None
    return made if entry.title is None else replace(made, spec=replace(made.spec, title=entry.title))


def _function_location(folder: Path, module: ModuleType, function: Any, name: str) -> str:
    """File and line by which its author finds it. What is no function has no line of its own, but begins one."""
    code = getattr(function, "__code__", None)
    if code is not None:
        return f"{_relative_path(folder, code.co_filename)}:{code.co_firstlineno}: {name}"
    file = Path(module.__file__ or "")
    begins = re.compile(rf"(?:class\s+)?{re.escape(name.rpartition('.')[2])}\b")
    text = file.read_text("utf-8", "replace").splitlines()
    line = next((number for number, line in enumerate(text, 1) if begins.match(line.lstrip())), 1)
    return f"{_relative_path(folder, str(file))}:{line}: {name}"


def _error_location(folder: Path, error: BaseException, module: str) -> str:
    """The last line of the toolset's own files that was being run."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_in(folder, frame.filename)]
    return f"{_relative_path(folder, own[-1].filename)}:{own[-1].lineno}" if own else f"{module}:1"


def _import_error_text(error: BaseException) -> str:
    match error:
        case ModuleNotFoundError(name=str(missing)):
            top = missing.partition(".")[0]
            return (
                f"there is no module {missing!r}. If it is of a package, name that package under requirements in "
                f"{_MANIFEST_NAME}; if it is a file of the toolset, check that {top!r} is among its files."
            )
        case SystemExit():
            return "the file ends the program when it is imported (sys.exit)."
        case MemoryError():
            return "importing it takes more memory than the toolset may use. Raise limits.memory."
        case _:
            return f"importing it raised {_one_line_error(error)}"


def _one_line_error(error: BaseException) -> str:
    said = str(error).strip().partition("\n")[0][:300]
    return f"{type(error).__name__}{': ' if said else ''}{said}"


def _is_in(folder: Path, file: str) -> bool:
    return Path(file).is_relative_to(folder)


def _relative_path(folder: Path, file: str) -> str:
    return Path(file).relative_to(folder).as_posix() if _is_in(folder, file) else os.path.basename(file)


def _module_names(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def function_description(function: FunctionTool) -> Mapping[str, object]:
    """What the gateway is told of it."""
    spec = function.spec
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "input": spec.input_schema,
        "output": spec.output_schema,
        "annotations": spec.annotations,
        "confirm": function.metadata.requires_confirmation,
        "async": function.is_async,
    }
