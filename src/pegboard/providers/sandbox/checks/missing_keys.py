"""Keys that the schema of an answer has not, where a program reads them: whether that surely is a mistake.

An answer may have more keys than its schema tells, and a program may put its own into it. So only a key that is plainly
read is one too many: nothing else in the program speaks of it, and nothing waits for it to be missing.
"""

import ast
from collections.abc import Iterator
from typing import Final

from pegboard.providers.sandbox.checks.program import ParsedProgram, Scopes

_TRY_NODES: Final = (ast.Try, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))
_MISSING_KEY_EXCEPTIONS: Final = frozenset({"KeyError", "LookupError", "Exception", "BaseException"})
_MUTATING_METHODS: Final = frozenset({"update", "setdefault", "__setitem__", "__ior__"})
_DICT_FACTORIES: Final = frozenset({"dict", "collections.Counter", "collections.defaultdict"})


class MissingKeys:
    def __init__(self, program: ParsedProgram) -> None:
        self._scopes: Final = program.scopes
        self._names: Final = program.names
        self._reads: Final[dict[tuple[int, str], list[ast.AST]]] = {}
        self._mentioned_keys: Final[set[str]] = set()
        self._guarded_nodes: Final[set[ast.AST]] = set()
        """What stands in a `try` that goes on where a key is missing."""
        self._is_function_guarded: Final = self._collect_guarded_nodes()
        self._has_computed_keys = False
        """Whether keys are put into what may be an answer that nobody knows before the run."""
        for node in self._scopes.nodes:
            self._inspect(node)

    def is_surely_wrong(self, key: str, line: int) -> bool:
        if self._has_computed_keys or key in self._mentioned_keys:
            return False
        reads = self._reads.get((line, key), [])
        return bool(reads) and not any(self._is_guarded(read) for read in reads)

    def _inspect(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=str() as text):
                self._record_text(node, text)
            case ast.keyword(arg=str() as name):
                call = self._scopes.parent[node]
                callee = self._names.callee(call.func) if isinstance(call, ast.Call) else None
                if not isinstance(callee, str):
                    self._mentioned_keys.add(name)
            case ast.Subscript(ctx=ast.Store(), slice=key) if not isinstance(key, ast.Constant):
                self._note_computed_keys(node.value)
            case ast.Call(func=ast.Attribute(attr=name, value=into)) if name in _MUTATING_METHODS:
                given = [*node.args[:1], *(each.value for each in node.keywords if each.arg is None)]
                if any(not isinstance(each, ast.Constant) and not self._has_constant_keys(each) for each in given):
                    self._note_computed_keys(into)
            case ast.AugAssign(op=ast.BitOr()) if not self._has_constant_keys(node.value):
                self._note_computed_keys(node.target)
            case _:
                pass

    def _record_text(self, node: ast.Constant, text: str) -> None:
        match above := self._scopes.parent[node]:
            case ast.Subscript(ctx=ast.Load()) if above.slice is node:
                self._reads.setdefault((node.lineno, text), []).append(above)
            case ast.Subscript() if isinstance(self._scopes.parent[above], ast.AugAssign):
                self._reads.setdefault((node.lineno, text), []).append(above)
            case ast.Dict() if any(node is each for each in above.keys):
                if self._is_merged(above):
                    self._mentioned_keys.add(text)
            case ast.Call() if self._names.callee(above.func) == "print":
                pass
            case ast.Expr() | ast.JoinedStr():
                pass
            case _:
                self._mentioned_keys.add(text)

    def _is_merged(self, written: ast.Dict) -> bool:
        """Whether what is written out goes into another dictionary right where it stands."""
        above = self._scopes.parent[written]
        if isinstance(above, ast.keyword):
            above = self._scopes.parent[above]
        match above:
            case ast.BinOp(op=ast.BitOr()) | ast.AugAssign(op=ast.BitOr()):
                return True
            case ast.Call(func=ast.Attribute(attr=name)):
                return name in _MUTATING_METHODS
            case _:
                return False

    def _has_constant_keys(self, value: ast.expr) -> bool:
        """Whether all its keys stand there."""
        return isinstance(value, ast.Dict) and all(isinstance(each, ast.Constant) for each in value.keys)

    def _note_computed_keys(self, into: ast.expr) -> None:
        if not self._is_own_container(into):
            self._has_computed_keys = True

    def _is_own_container(self, into: ast.expr) -> bool:
        """A dictionary that the program has made, or a set or a list, and no answer."""
        variable = self._scopes.variable(into) if isinstance(into, ast.Name) else None
        if variable is None:
            return False
        values = [_assigned_value(self._scopes, each) for each in variable.binders]
        return all(
            isinstance(each, ast.Dict | ast.DictComp | ast.Set | ast.SetComp | ast.List | ast.ListComp)
            or (isinstance(each, ast.Call) and self._names.callee(each.func) in (_DICT_FACTORIES | {"set", "list"}))
            for each in values
        )

    def _collect_guarded_nodes(self) -> bool:
        own = {node.name for node in self._scopes.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        is_called = False
        for node in self._scopes.nodes:
            if isinstance(node, _TRY_NODES) and any(_can_catch_missing_key(each) for each in node.handlers):
                for statement in node.body:
                    for inner in ast.walk(statement):
                        self._scopes.spend(1)
                        self._guarded_nodes.add(inner)
                        is_called = is_called or _last_name(inner) in own
        return is_called

    def _is_guarded(self, read: ast.AST) -> bool:
        """Whether the program goes on where it is missing."""
        within = self._scopes.function_of(read)
        is_in_function = isinstance(within, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        return read in self._guarded_nodes or (self._is_function_guarded and is_in_function)


class HostCallIndex:
    """Whose functions are called on a line, by what their names mean there."""

    def __init__(self, program: ParsedProgram) -> None:
        self._calls: Final[dict[int, list[tuple[str, tuple[str, str] | None]]]] = {}
        for node in program.scopes.nodes:
            if isinstance(node, ast.Call):
                hosted = program.names.host_function(node.func)
                for line in set(_call_lines(node)):
                    self._calls.setdefault(line, []).append((_last_name(node.func), hosted))

    def is_called(self, function: str, line: int) -> bool:
        """Whether a function of this name can only be the host's there."""
        calls = self._calls.get(line, [])
        is_there = any(hosted is not None and hosted[1] == function for _, hosted in calls)
        return is_there and not any(name == function and hosted is None for name, hosted in calls)


def _call_lines(call: ast.Call) -> Iterator[int]:
    """Where it begins, and where each argument does."""
    yield call.lineno
    yield call.func.end_lineno or call.lineno
    yield from (each.lineno for each in call.args)
    yield from (each.lineno for each in call.keywords)
    yield from (each.value.lineno for each in call.keywords)


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _can_catch_missing_key(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    # Of a name that is no exception's own, nobody knows which it is.
    return any(each is None or not isinstance(each, ast.Name) or each.id in _MISSING_KEY_EXCEPTIONS for each in kinds)


def _assigned_value(scopes: Scopes, binder: ast.AST) -> ast.AST | None:
    match scopes.parent.get(binder):
        case ast.Assign(value=value, targets=targets) if binder in targets:
            return value
        case ast.AnnAssign(value=ast.expr() as value):
            return value
        case ast.AugAssign(value=value):
            return value
        case _:
            return None
