"""What the small Python does not have, where a program's text shows that it needs it; and what to write instead.

Told before the run: a program that fails midway has done half of what it does, and whoever mends it does that twice.
"""

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from pegboard.ports.sandbox import SandboxFunction
from pegboard.providers.sandbox.checks.program import UNREADABLE_ERRORS, ParsedProgram, Scopes
from pegboard.providers.sandbox.errors import EXCEPTION_ARGUMENTS_HINT


class UnsupportedFeature(NamedTuple):
    line: int
    message: str


_DO_WITHOUT: Final = "do without it"
_USE_NOW: Final = "write `datetime.datetime.now()`"
_USE_EPOCH_DELTA: Final = "write `datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=…)`"
MISSING_NAMES: Final[Mapping[str, str]] = {
    "IOError": "write `OSError`",
    "EnvironmentError": "write `OSError`",
    "exit": "let the program end with its last line",
    "quit": "let the program end with its last line",
    "dataclasses.asdict": "write the dictionary out",
    "dataclasses.astuple": "write the tuple out",
    "dataclasses.fields": "write the names out",
    "dataclasses.replace": "make a new one of all its fields",
    "datetime.UTC": "write `datetime.timezone.utc`",
    "datetime.datetime.fromtimestamp": _USE_EPOCH_DELTA,
    "datetime.datetime.utcfromtimestamp": _USE_EPOCH_DELTA,
    "datetime.date.fromtimestamp": _USE_EPOCH_DELTA,
    "datetime.datetime.utcnow": _USE_NOW,
    "datetime.datetime.today": _USE_NOW,
    "json.JSONEncoder": "make plain values of all others before",
    "re.subn": "write `re.sub`",
    "re.VERBOSE": _DO_WITHOUT,
    "re.X": _DO_WITHOUT,
    "typing.cast": _DO_WITHOUT,
    "typing.NamedTuple": "write `collections.namedtuple`",
    "typing.TypedDict": "write `dict`",
}
"""Names, with their modules, of which the type check takes it that they are there."""
MISSING_METHODS: Final = frozenset(
    {
        *("isocalendar", "toordinal", "timetuple", "utctimetuple", "ctime", "format_map", "translate"),
        *("difference_update", "intersection_update", "symmetric_difference_update"),
        *("bit_length", "bit_count", "to_bytes", "is_integer", "as_integer_ratio"),
    }
)
"""That no value has there, and that no other type of Python has."""
UNCALLED_SPECIAL_METHODS: Final = frozenset(
    {
        *("__lt__", "__le__", "__gt__", "__ge__", "__len__", "__bool__", "__getattr__", "__getattribute__"),
        *("__setattr__", "__format__", "__reversed__", "__bytes__", "__iadd__", "__new__"),
    }
)
"""Methods of a class that are never called by themselves."""
MISSING_DUMPS_OPTIONS: Final = frozenset({"cls", "default", "check_circular"})
MISSING_DATACLASS_OPTIONS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("order", "unsafe_hash", "kw_only", "slots", "weakref_slot"), True),
    **dict.fromkeys(("init", "repr", "match_args"), False),
}
"""Options, and with which value they are not there."""
_CLASS_METHODS: Final = frozenset({"dict.fromkeys", "bytes.fromhex"})
_BUILTIN_TYPES: Final[Mapping[str, type]] = {
    each.__name__: each for each in (str, bytes, int, float, dict, list, tuple, set, frozenset)
}
_CATCH_EACH_HINT: Final = (
    "write `async def tried(call):` with `try: return await call` and `except Exception as error: return error`, and "
    "`await asyncio.gather(*[tried(call) for call in calls])`"
)


def find_unsupported_features(
    program: ParsedProgram | None, functions: Iterable[SandboxFunction]
) -> Iterator[UnsupportedFeature]:
    if program is None:
        return
    there = [*functions]
    modules = frozenset(each.module.partition(".")[0] for each in there if each.module)
    found = _FeatureFinder(program.scopes, frozenset(each.name for each in there), modules)
    try:
        for node in program.scopes.nodes:
            for message in found.messages_for(node):
                yield UnsupportedFeature(getattr(node, "lineno", 1), message)
    except UNREADABLE_ERRORS:
        return


class _FeatureFinder:
    def __init__(self, scopes: Scopes, hosted: frozenset[str], modules: frozenset[str]) -> None:
        self._scopes: Final = scopes
        self._modules: Final = modules
        self._has_own_types: Final = any(
            isinstance(node, ast.ClassDef) or (isinstance(node, ast.alias) and node.name == "namedtuple")
            for node in scopes.nodes
        )
        """Whether it has types of its own."""
        self._own_names: Final = hosted | {
            node.name for node in scopes.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }

    def messages_for(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.ImportFrom(module=str(module), level=0) if not self._is_in_try(node):
                for alias in node.names:
                    yield from _missing_name_messages(f"{module}.{alias.name}")
            case ast.Name(ctx=ast.Load()) if self._scopes.variable(node) is None and node.id not in self._own_names:
                yield from _missing_name_messages(node.id)
            case ast.Attribute(ctx=ast.Load()):
                yield from self._attribute_messages(node)
            case ast.Call():
                yield from self._call_messages(node)
            case ast.FunctionDef() if node.name in UNCALLED_SPECIAL_METHODS and isinstance(
                self._scopes.parent[node], ast.ClassDef
            ):
                yield (
                    f"This Python never calls `{node.name}` of a class: give the method a name of its own, and call it."
                )
            case _:
                pass

    def _attribute_messages(self, node: ast.Attribute) -> Iterator[str]:
        name = self._dotted_name(node)
        if name is not None:
            yield from _missing_name_messages(name)
        owner = node.value
        if not isinstance(owner, ast.Name) or self._scopes.variable(owner) is not None:
            called = isinstance(call := self._scopes.parent.get(node), ast.Call) and call.func is node
            if called and node.attr in MISSING_METHODS - self._own_names and self._is_value(owner):
                yield f"This Python has no method `{node.attr}`."
            return
        kind = _BUILTIN_TYPES.get(owner.id)
        if kind is not None and name not in _CLASS_METHODS and hasattr(kind, node.attr) and node.attr[0] != "_":
            yield (
                f"This Python has no `{owner.id}.{node.attr}`, and no method as a value: call it on the value, as in "
                f"`lambda x: x.{node.attr}(…)`."
            )

    def _call_messages(self, node: ast.Call) -> Iterator[str]:
        name = self._dotted_name(node.func)
        options = {each.arg: each.value for each in node.keywords if each.arg is not None}
        match name:
            case "asyncio.gather" if options:
                yield f"`asyncio.gather` takes no `{next(iter(options))}` in this Python: {_CATCH_EACH_HINT}."
            case "next" if node.args and isinstance(node.args[0], ast.GeneratorExp):
                yield (
                    "`next` takes no generator expression in this Python: write a list, as in "
                    "`next(iter([… for … in …]), None)`."
                )
            case "json.dumps" | "json.dump" if refused := MISSING_DUMPS_OPTIONS & options.keys():
                yield f"`{name}` takes no `{min(refused)}` in this Python: make plain values of all others before."
            case "re.sub" if self._is_function([*node.args[1:2], *filter(None, [options.get("repl")])]):
                yield _no_function_message("re.sub")
            case None if (
                isinstance(node.func, ast.Attribute) and node.func.attr == "sub" and "sub" not in self._own_names
            ):
                if node.args and isinstance(node.args[0], ast.Lambda):
                    yield _no_function_message("sub")
            case "dataclasses.dataclass":
                for option, value in options.items():
                    if (
                        option in MISSING_DATACLASS_OPTIONS
                        and isinstance(value, ast.Constant)
                        and value.value is MISSING_DATACLASS_OPTIONS[option]
                    ):
                        yield f"`dataclass` takes no `{option}={value.value}` in this Python."
            case "datetime.timedelta" if any(_is_fraction(each) for each in (*node.args, *options.values())):
                yield "`timedelta` takes whole numbers in this Python: write smaller units, as in `minutes=90`."
            case "hasattr" | "getattr":
                yield from self._hasattr_messages(name, node)
            case str() if _is_exception(name) and not _is_one_text(node):
                yield EXCEPTION_ARGUMENTS_HINT
            case _:
                pass

    def _hasattr_messages(self, name: str, node: ast.Call) -> Iterator[str]:
        """Of a value of the program's own classes such an attribute may be there, and of a module of tools."""
        match node.args:
            case [ast.Name(id=module), *_] if module in self._modules:
                pass
            case [_, ast.Constant(value=str(asked)), *_] if not self._has_own_types:
                kinds = [kind for kind, each in _BUILTIN_TYPES.items() if hasattr(each, asked)]
                spoken = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
                if kinds:
                    yield (
                        f"`{name}` finds no methods in this Python, so `{asked}` is never there: ask "
                        f"`isinstance(…, {spoken})`."
                    )
            case _:
                pass

    def _is_function(self, given: Iterable[ast.expr]) -> bool:
        for each in given:
            if isinstance(each, ast.Lambda):
                return True
            variable = self._scopes.variable(each) if isinstance(each, ast.Name) else None
            if variable is not None and all(isinstance(binder, ast.FunctionDef) for binder in variable.binders):
                return True
        return False

    def _is_value(self, node: ast.expr) -> bool:
        """No module, as far as can be seen."""
        variable = self._scopes.variable(node) if isinstance(node, ast.Name) else None
        return variable is None or not any(isinstance(each, ast.alias) for each in variable.binders)

    def _is_in_try(self, node: ast.AST) -> bool:
        return isinstance(self._scopes.parent.get(node), ast.Try)

    def _dotted_name(self, node: ast.expr) -> str | None:
        """What it names, by the module that it comes from."""
        match node:
            case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=name):
                base = self._dotted_name(owner)
                return None if base is None else f"{base}.{name}"
            case ast.Name():
                variable = self._scopes.variable(node)
                if variable is None:
                    return node.id if hasattr(builtins, node.id) else None
                meant = {
                    self._import_target(each) if isinstance(each, ast.alias) else None for each in variable.binders
                }
                return meant.pop() if len(meant) == 1 else None
            case _:
                return None

    def _import_target(self, alias: ast.alias) -> str | None:
        match self._scopes.parent.get(alias):
            case ast.Import():
                return alias.name if alias.asname else alias.name.split(".")[0]
            case ast.ImportFrom(module=str(module), level=0):
                return f"{module}.{alias.name}"
            case _:
                return None


def _missing_name_messages(name: str) -> Iterator[str]:
    if (instead := MISSING_NAMES.get(name)) is not None:
        yield f"`{name}` is not in this Python: {instead}."


def _no_function_message(name: str) -> str:
    return f"`{name}` takes no function in this Python: build the text in a loop over `re.finditer(…)`."


def _is_fraction(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _is_one_text(node: ast.Call) -> bool:
    """As far as can be seen."""
    if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
        return True
    match node.args:
        case [] | [ast.Constant(value=str())]:
            return True
        case [ast.Constant() | ast.Tuple() | ast.List() | ast.Dict() | ast.Set()]:
            return False
        case [_]:
            return True
        case _:
            return False
