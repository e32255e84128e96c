"""Calls that a program makes and never awaits, found in its text before anything of it runs.

Only what is certain is told: a call is followed from where it stands through names, lists and functions, and as soon as
something may await it there, or something is done with it that nobody knows here, nothing is said of it.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.providers.sandbox.checks.program import (
    GATHER,
    HOST_FUNCTION,
    STR_METHOD,
    UNREADABLE_ERRORS,
    ParsedProgram,
    ProgramVariable,
)

_INSPECTING_FUNCTIONS: Final = frozenset(
    {
        "print",
        "str",
        "repr",
        "len",
        "bool",
        "type",
        "isinstance",
        "id",
        "hash",
        "format",
        "any",
        "all",
        "sum",
        "hasattr",
    }
    | {"json.dumps", "json.loads", "json.dump", "json.load", HOST_FUNCTION, STR_METHOD}
)
"""What takes a value and keeps nothing of it, be it a call or a list of calls."""
_VALUE_FUNCTIONS: Final = frozenset(
    {
        "int",
        "float",
        "abs",
        "round",
        "range",
        "ord",
        "chr",
        "hex",
        "bin",
        "oct",
        "divmod",
        "pow",
        "list",
        "tuple",
        "set",
    }
    | {"frozenset", "sorted", "enumerate", "zip", "iter", "next", "reversed", "map", "filter", "min", "max", "bytes"}
    | {"getattr", "itertools.chain", "math.floor", "math.ceil", "copy.copy", "copy.deepcopy"}
)
"""What takes no call as it is: numbers and texts are made of it, or it is gone through."""
_COPYING_FUNCTIONS: Final = frozenset({"list", "tuple", "set"})
_COROUTINE_METHODS: Final = frozenset({"close", "send", "throw", "__await__"})
_ADDING_METHODS: Final = frozenset({"append", "add", "insert", "setdefault"})
_EXTENDING_METHODS: Final = frozenset({"extend", "update"})
_DYNAMIC_FUNCTIONS: Final = frozenset({"eval", "exec", "locals", "globals", "vars"})
_CONTAINER_FACTORIES: Final = frozenset({"list", "set", "dict", "collections.deque", "collections.defaultdict"})
_CONTAINER_NODES: Final = (ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
Lines: TypeAlias = frozenset[int]
_StoredName: TypeAlias = tuple[ProgramVariable, bool, ast.AST | None]


@dataclass(frozen=True)
class MissingAwait:
    line: int
    message: str
    uses: Lines
    """Where the program takes it for an answer."""


def find_missing_awaits(program: ParsedProgram | None) -> tuple[MissingAwait, ...]:
    """By line. Nothing of what takes too long to read or to follow."""
    if program is None:
        return ()
    try:
        return _AwaitFinder(program).find()
    except UNREADABLE_ERRORS:
        return ()


class _AwaitFinder:
    def __init__(self, program: ParsedProgram) -> None:
        self._scopes: Final = program.scopes
        self._awaits: Final = program.awaits
        self._unawaited_names: Final[dict[_StoredName, Lines]] = {}
        """Names that nothing is awaited of."""
        self._followed_names: dict[_StoredName, Lines] = {}
        """The same of the call that is followed now, as long as nothing else is found."""

    def find(self) -> tuple[MissingAwait, ...]:
        found: dict[tuple[int, str], MissingAwait] = {}
        names = (node.id for node in self._scopes.nodes if isinstance(node, ast.Name))
        if not _DYNAMIC_FUNCTIONS.isdisjoint(names):
            return ()
        for node in self._scopes.nodes:
            if isinstance(node, ast.Call | ast.Await) and (each := self._check(node)) is not None:
                found.setdefault((each.line, each.message), each)
        return tuple(found[key] for key in sorted(found))

    def _check(self, node: ast.Call | ast.Await) -> MissingAwait | None:
        self._followed_names = {}
        if self._awaits.await_count(node):
            lost = self._misuse(node, held=False)
        elif isinstance(node, ast.Await) and self._awaits.is_gather_of_calls(node.value):
            lost = self._misuse(node, held=True)
        else:
            return None
        if lost is None:
            return None
        self._unawaited_names.update(self._followed_names)
        if isinstance(node, ast.Call):
            return MissingAwait(node.lineno, self._message(node), lost | {node.lineno})
        inner = self._returned_call(node.value)
        if inner is None:
            again = "`await` is missing: what this `await` gives is a call again, not its answer. Await that too."
            return MissingAwait(node.lineno, again, lost | {node.lineno})
        within, call = inner
        why = f"`{within}` gives back the call, not its answer. Write `return await {_call_text(call)}`."
        return MissingAwait(call.lineno, f"`await` is missing before `{_call_text(call)}`: {why}", lost | {node.lineno})

    def _message(self, call: ast.Call) -> str:
        said = _call_text(call)
        parent = self._scopes.parent[call]
        is_one_of_many = isinstance(parent, (*_CONTAINER_NODES, ast.GeneratorExp)) or (
            isinstance(parent, ast.Call)
            and isinstance(parent.func, ast.Attribute)
            and parent.func.attr in _ADDING_METHODS
        )
        is_many = self._awaits.callee(call.func) == GATHER
        what = "these are the calls, not their answers" if is_many else "this is the call, not its answer"
        more = ", or `await asyncio.gather(*…)` of all of them" if is_one_of_many else ""
        around = self._scopes.function_of(call)
        if isinstance(around, ast.FunctionDef):
            more += f", and `async def {around.name}`, which is then awaited too"
        return f"`await` is missing before `{said}`: {what}. Write `await {said}`{more}."

    def _returned_call(self, value: ast.expr) -> tuple[str, ast.Call] | None:
        """Of functions that give back calls: whose name, and the call that it gives back."""
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and isinstance(made := self._awaits.callee(node.func), ast.AsyncFunctionDef):
                for each in self._scopes.returns.get(made, ()):
                    if isinstance(each.value, ast.Call) and self._awaits.await_count(each.value):
                        return made.name, each.value
        return None

    def _misuse(self, node: ast.AST, *, held: bool) -> Lines | None:
        """Where a call, or what `held` calls, is of no use to the program any more; `None` where it may be."""
        above = self._scopes.parent[node]
        line = frozenset({getattr(node, "lineno", 0)})
        match above:
            case ast.Expr() | ast.FormattedValue() | ast.Compare() | ast.UnaryOp() | ast.Assert() | ast.Delete():
                return line
            case ast.If() | ast.While():
                return line
            case ast.BoolOp() | ast.IfExp() if not (isinstance(above, ast.IfExp) and above.test is node):
                return self._misuse(above, held=held)
            case ast.IfExp():
                return line
            case ast.BinOp():
                return self._misuse(above, held=True) if held and isinstance(above.op, ast.Add) else line
            case ast.Await():
                return line if held and not isinstance(node, ast.Name) else None
            case ast.Attribute():
                return self._misuse_by_attribute(above, held=held)
            case ast.Subscript():
                return self._misuse_by_subscript(above, node, held=held)
            case ast.For() | ast.comprehension():
                return self._misuse_by_iteration(above, node, held=held)
            case ast.Starred():
                return self._misuse_by_unpacking(above, held=held)
            case ast.Call():
                return line if node is above.func else self._misuse_as_argument(above, node, held=held)
            case ast.keyword():
                call = self._scopes.parent[above]
                return (
                    self._misuse_as_argument(call, node, held=held)
                    if above.arg and isinstance(call, ast.Call)
                    else None
                )
            case (
                ast.List() | ast.Set() | ast.Tuple() | ast.Dict() | ast.ListComp() | ast.SetComp() | ast.GeneratorExp()
            ):
                return self._misuse_in_container(above, node, held=held)
            case ast.DictComp() if above.value is node and not held:
                return self._misuse(above, held=True)
            case ast.Assign():
                return self._combine(self._misuse_after_assignment(each, above, held=held) for each in above.targets)
            case ast.AnnAssign():
                return self._misuse_after_assignment(above.target, above, held=held)
            case ast.AugAssign():
                return self._misuse_in_named_container(above.target) if held else line
            case _:
                return None

    def _misuse_by_attribute(self, attribute: ast.Attribute, *, held: bool) -> Lines | None:
        if not held:
            return None if attribute.attr in _COROUTINE_METHODS else frozenset({attribute.lineno})
        call = self._scopes.parent[attribute]
        is_put = isinstance(call, ast.Call) and isinstance(self._scopes.parent[call], ast.Expr)
        return frozenset() if is_put and attribute.attr in (_ADDING_METHODS | _EXTENDING_METHODS) else None

    def _misuse_by_subscript(self, subscript: ast.Subscript, node: ast.AST, *, held: bool) -> Lines | None:
        line = frozenset({subscript.lineno})
        if subscript.value is not node:
            return line if isinstance(subscript.ctx, ast.Load) else None
        if not held:
            return line
        if not isinstance(subscript.ctx, ast.Load):
            return frozenset()
        return self._misuse(subscript, held=isinstance(subscript.slice, ast.Slice))

    def _misuse_by_iteration(self, loop: ast.For | ast.comprehension, node: ast.AST, *, held: bool) -> Lines | None:
        if loop.iter is not node:
            return frozenset({getattr(node, "lineno", 0)})
        if not held:
            return frozenset({getattr(node, "lineno", 0)})
        return (
            self._misuse_after_assignment(loop.target, None, held=False) if isinstance(loop.target, ast.Name) else None
        )

    def _misuse_by_unpacking(self, starred: ast.Starred, *, held: bool) -> Lines | None:
        above = self._scopes.parent[starred]
        if not held:
            return frozenset({starred.lineno})
        if isinstance(above, ast.List | ast.Tuple | ast.Set):
            return self._misuse(above, held=True)
        is_shown = isinstance(above, ast.Call) and self._awaits.callee(above.func) == "print"
        return frozenset({starred.lineno}) if is_shown else None

    def _misuse_as_argument(self, call: ast.Call, node: ast.AST, *, held: bool) -> Lines | None:
        """As an argument."""
        line = frozenset({getattr(node, "lineno", 0)})
        callee = self._awaits.callee(call.func)
        if isinstance(callee, str):
            if callee in _INSPECTING_FUNCTIONS:
                return line
            if held:
                return (
                    self._misuse(call, held=True)
                    if callee in _COPYING_FUNCTIONS
                    else line
                    if callee == GATHER
                    else None
                )
            has_key = any(each.arg == "key" for each in call.keywords)
            return line if callee in _VALUE_FUNCTIONS and not has_key else None
        function = call.func
        if not (isinstance(function, ast.Attribute) and isinstance(self._scopes.parent[call], ast.Expr)):
            return None
        return (
            self._misuse_in_named_container(function.value)
            if function.attr in (_EXTENDING_METHODS if held else _ADDING_METHODS)
            else None
        )

    def _misuse_in_container(self, holding: ast.AST, node: ast.AST, *, held: bool) -> Lines | None:
        """Into a list, or the like."""
        if held or (isinstance(holding, ast.Dict) and node in holding.keys):
            return None
        above = self._scopes.parent[holding]
        if isinstance(holding, ast.Tuple) and isinstance(above, ast.Assign) and len(above.targets) == 1:
            target = above.targets[0]
            is_whole = not any(isinstance(each, ast.Starred) for each in holding.elts)
            if isinstance(target, ast.Tuple) and is_whole and len(target.elts) == len(holding.elts):
                at = next(at for at, each in enumerate(holding.elts) if each is node)
                return self._misuse_after_assignment(target.elts[at], above, held=False)
        return self._misuse(holding, held=True)

    def _misuse_after_assignment(self, target: ast.expr, statement: ast.AST | None, *, held: bool) -> Lines | None:
        match target:
            case ast.Name():
                return self._misuse_of_name(target, statement, held=held)
            case ast.Subscript() if not held:
                return self._misuse_in_named_container(target.value)
            case ast.Tuple() | ast.List() if not held:
                return frozenset({target.lineno})
            case _:
                return None

    def _misuse_in_named_container(self, target: ast.expr) -> Lines | None:
        """A list, or the like, of which the program has made all there is under one name."""
        variable = self._scopes.variable(target) if isinstance(target, ast.Name) else None
        if variable is None or not isinstance(target, ast.Name):
            return None
        for binder in variable.binders:
            stored = self._scopes.parent.get(binder)
            if isinstance(stored, ast.AugAssign):
                continue
            value = stored.value if isinstance(stored, ast.Assign | ast.AnnAssign) else None
            if isinstance(stored, ast.Assign) and len(stored.targets) > 1:
                # The same list has other names, too.
                return None
            is_made = isinstance(value, ast.Call) and self._awaits.callee(value.func) in _CONTAINER_FACTORIES
            if not isinstance(value, _CONTAINER_NODES) and not is_made:
                return None
        return self._misuse_of_name(target, None, held=True)

    def _misuse_of_name(self, name: ast.Name, statement: ast.AST | None, *, held: bool) -> Lines | None:
        variable = self._scopes.variable(name)
        if variable is None or isinstance(variable.scope, ast.ClassDef):
            return None
        key = variable, held, statement
        if (known := self._unawaited_names.get(key, self._followed_names.get(key))) is not None:
            return known
        # What leads back to itself decides nothing.
        self._followed_names[key] = frozenset()
        self._scopes.spend(len(variable.reads))
        reads = variable.reads if statement is None else self._scopes.reads_after(variable, statement)
        found = self._combine(self._misuse(read, held=held) for read in reads)
        if found is not None:
            self._followed_names[key] = found
        return found

    def _combine(self, fates: Iterable[Lines | None]) -> Lines | None:
        lines: set[int] = set()
        for fate in fates:
            if fate is None:
                return None
            lines |= fate
        return frozenset(lines)


def _call_text(call: ast.Call) -> str:
    said = call.func
    names: list[str] = []
    while isinstance(said, ast.Attribute):
        names.append(said.attr)
        said = said.value
    if isinstance(said, ast.Name):
        names.append(said.id)
    return f"{'.'.join(reversed(names)) or '…'}({'…' if call.args or call.keywords else ''})"
