"""Calls that a program makes and never awaits, found in its text before anything of it runs.

Only what is certain is told: a call is followed from where it stands through names, lists and functions, and as soon as
something may await it there, or something is done with it that nobody knows here, nothing is said of it.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from .awaiting import GATHER, HOST, TEXT
from .readable import UNREADABLE, Readable
from .scopes import Variable

_LOOKS: Final = frozenset(
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
    | {"json.dumps", "json.loads", "json.dump", "json.load", HOST, TEXT}
)
"""What takes a value and keeps nothing of it, be it a call or a list of calls."""
_NOT_OF_A_CALL: Final = frozenset(
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
_SAME: Final = frozenset({"list", "tuple", "set"})
_OWN: Final = frozenset({"close", "send", "throw", "__await__"})
_TAKES_ONE: Final = frozenset({"append", "add", "insert", "setdefault"})
_TAKES_MORE: Final = frozenset({"extend", "update"})
_ANYTHING: Final = frozenset({"eval", "exec", "locals", "globals", "vars"})
_MADE: Final = frozenset({"list", "set", "dict", "collections.deque", "collections.defaultdict"})
_HOLDING: Final = (ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
Lines: TypeAlias = frozenset[int]
_Stored: TypeAlias = tuple[Variable, bool, ast.AST | None]


@dataclass(frozen=True)
class Unawaited:
    line: int
    message: str
    uses: Lines
    """Where the program takes it for an answer."""


def unawaited(program: Readable | None) -> tuple[Unawaited, ...]:
    """By line. Nothing of what takes too long to read or to follow."""
    if program is None:
        return ()
    try:
        return _Calls(program).told()
    except UNREADABLE:
        return ()


class _Calls:
    def __init__(self, program: Readable) -> None:
        self._scopes: Final = program.scopes
        self._awaiting: Final = program.awaiting
        self._lost: Final[dict[_Stored, Lines]] = {}
        """Names that nothing is awaited of."""
        self._seen: dict[_Stored, Lines] = {}
        """The same of the call that is followed now, as long as nothing else is found."""

    def told(self) -> tuple[Unawaited, ...]:
        found: dict[tuple[int, str], Unawaited] = {}
        names = (node.id for node in self._scopes.nodes if isinstance(node, ast.Name))
        if not _ANYTHING.isdisjoint(names):
            return ()
        for node in self._scopes.nodes:
            if isinstance(node, ast.Call | ast.Await) and (each := self._of(node)) is not None:
                found.setdefault((each.line, each.message), each)
        return tuple(found[key] for key in sorted(found))

    def _of(self, node: ast.Call | ast.Await) -> Unawaited | None:
        self._seen = {}
        if self._awaiting.needs(node):
            lost = self._fate(node, held=False)
        elif isinstance(node, ast.Await) and self._awaiting.gathers_calls(node.value):
            lost = self._fate(node, held=True)
        else:
            return None
        if lost is None:
            return None
        self._lost.update(self._seen)
        if isinstance(node, ast.Call):
            return Unawaited(node.lineno, self._words(node), lost | {node.lineno})
        inner = self._inner(node.value)
        if inner is None:
            again = "`await` is missing: what this `await` gives is a call again, not its answer. Await that too."
            return Unawaited(node.lineno, again, lost | {node.lineno})
        within, call = inner
        why = f"`{within}` gives back the call, not its answer. Write `return await {_spoken(call)}`."
        return Unawaited(call.lineno, f"`await` is missing before `{_spoken(call)}`: {why}", lost | {node.lineno})

    def _words(self, call: ast.Call) -> str:
        said = _spoken(call)
        parent = self._scopes.parent[call]
        is_one_of_many = isinstance(parent, (*_HOLDING, ast.GeneratorExp)) or (
            isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in _TAKES_ONE
        )
        is_many = self._awaiting.callee(call.func) == GATHER
        what = "these are the calls, not their answers" if is_many else "this is the call, not its answer"
        more = ", or `await asyncio.gather(*…)` of all of them" if is_one_of_many else ""
        around = self._scopes.function_of(call)
        if isinstance(around, ast.FunctionDef):
            more += f", and `async def {around.name}`, which is then awaited too"
        return f"`await` is missing before `{said}`: {what}. Write `await {said}`{more}."

    def _inner(self, value: ast.expr) -> tuple[str, ast.Call] | None:
        """Of functions that give back calls: whose name, and the call that it gives back."""
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and isinstance(
                made := self._awaiting.callee(node.func), ast.AsyncFunctionDef
            ):
                for each in self._scopes.returns.get(made, ()):
                    if isinstance(each.value, ast.Call) and self._awaiting.needs(each.value):
                        return made.name, each.value
        return None

    def _fate(self, node: ast.AST, *, held: bool) -> Lines | None:
        """Where a call, or what `held` calls, is of no use to the program any more; `None` where it may be."""
        above = self._scopes.parent[node]
        line = frozenset({getattr(node, "lineno", 0)})
        match above:
            case ast.Expr() | ast.FormattedValue() | ast.Compare() | ast.UnaryOp() | ast.Assert() | ast.Delete():
                return line
            case ast.If() | ast.While():
                return line
            case ast.BoolOp() | ast.IfExp() if not (isinstance(above, ast.IfExp) and above.test is node):
                return self._fate(above, held=held)
            case ast.IfExp():
                return line
            case ast.BinOp():
                return self._fate(above, held=True) if held and isinstance(above.op, ast.Add) else line
            case ast.Await():
                return line if held and not isinstance(node, ast.Name) else None
            case ast.Attribute():
                return self._attribute(above, held=held)
            case ast.Subscript():
                return self._subscript(above, node, held=held)
            case ast.For() | ast.comprehension():
                return self._gone_through(above, node, held=held)
            case ast.Starred():
                return self._starred(above, held=held)
            case ast.Call():
                return line if node is above.func else self._given(above, node, held=held)
            case ast.keyword():
                call = self._scopes.parent[above]
                return self._given(call, node, held=held) if above.arg and isinstance(call, ast.Call) else None
            case (
                ast.List() | ast.Set() | ast.Tuple() | ast.Dict() | ast.ListComp() | ast.SetComp() | ast.GeneratorExp()
            ):
                return self._put(above, node, held=held)
            case ast.DictComp() if above.value is node and not held:
                return self._fate(above, held=True)
            case ast.Assign():
                return self._all(self._stored(each, above, held=held) for each in above.targets)
            case ast.AnnAssign():
                return self._stored(above.target, above, held=held)
            case ast.AugAssign():
                return self._into(above.target) if held else line
            case _:
                return None

    def _attribute(self, attribute: ast.Attribute, *, held: bool) -> Lines | None:
        if not held:
            return None if attribute.attr in _OWN else frozenset({attribute.lineno})
        call = self._scopes.parent[attribute]
        is_put = isinstance(call, ast.Call) and isinstance(self._scopes.parent[call], ast.Expr)
        return frozenset() if is_put and attribute.attr in (_TAKES_ONE | _TAKES_MORE) else None

    def _subscript(self, subscript: ast.Subscript, node: ast.AST, *, held: bool) -> Lines | None:
        line = frozenset({subscript.lineno})
        if subscript.value is not node:
            return line if isinstance(subscript.ctx, ast.Load) else None
        if not held:
            return line
        if not isinstance(subscript.ctx, ast.Load):
            return frozenset()
        return self._fate(subscript, held=isinstance(subscript.slice, ast.Slice))

    def _gone_through(self, loop: ast.For | ast.comprehension, node: ast.AST, *, held: bool) -> Lines | None:
        if loop.iter is not node:
            return frozenset({getattr(node, "lineno", 0)})
        if not held:
            return frozenset({getattr(node, "lineno", 0)})
        return self._stored(loop.target, None, held=False) if isinstance(loop.target, ast.Name) else None

    def _starred(self, starred: ast.Starred, *, held: bool) -> Lines | None:
        above = self._scopes.parent[starred]
        if not held:
            return frozenset({starred.lineno})
        if isinstance(above, ast.List | ast.Tuple | ast.Set):
            return self._fate(above, held=True)
        is_shown = isinstance(above, ast.Call) and self._awaiting.callee(above.func) == "print"
        return frozenset({starred.lineno}) if is_shown else None

    def _given(self, call: ast.Call, node: ast.AST, *, held: bool) -> Lines | None:
        """As an argument."""
        line = frozenset({getattr(node, "lineno", 0)})
        callee = self._awaiting.callee(call.func)
        if isinstance(callee, str):
            if callee in _LOOKS:
                return line
            if held:
                return self._fate(call, held=True) if callee in _SAME else line if callee == GATHER else None
            has_key = any(each.arg == "key" for each in call.keywords)
            return line if callee in _NOT_OF_A_CALL and not has_key else None
        function = call.func
        if not (isinstance(function, ast.Attribute) and isinstance(self._scopes.parent[call], ast.Expr)):
            return None
        return self._into(function.value) if function.attr in (_TAKES_MORE if held else _TAKES_ONE) else None

    def _put(self, holding: ast.AST, node: ast.AST, *, held: bool) -> Lines | None:
        """Into a list, or the like."""
        if held or (isinstance(holding, ast.Dict) and node in holding.keys):
            return None
        above = self._scopes.parent[holding]
        if isinstance(holding, ast.Tuple) and isinstance(above, ast.Assign) and len(above.targets) == 1:
            target = above.targets[0]
            is_whole = not any(isinstance(each, ast.Starred) for each in holding.elts)
            if isinstance(target, ast.Tuple) and is_whole and len(target.elts) == len(holding.elts):
                at = next(at for at, each in enumerate(holding.elts) if each is node)
                return self._stored(target.elts[at], above, held=False)
        return self._fate(holding, held=True)

    def _stored(self, target: ast.expr, statement: ast.AST | None, *, held: bool) -> Lines | None:
        match target:
            case ast.Name():
                return self._followed_by(target, statement, held=held)
            case ast.Subscript() if not held:
                return self._into(target.value)
            case ast.Tuple() | ast.List() if not held:
                return frozenset({target.lineno})
            case _:
                return None

    def _into(self, target: ast.expr) -> Lines | None:
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
            is_made = isinstance(value, ast.Call) and self._awaiting.callee(value.func) in _MADE
            if not isinstance(value, _HOLDING) and not is_made:
                return None
        return self._followed_by(target, None, held=True)

    def _followed_by(self, name: ast.Name, statement: ast.AST | None, *, held: bool) -> Lines | None:
        variable = self._scopes.variable(name)
        if variable is None or isinstance(variable.scope, ast.ClassDef):
            return None
        key = variable, held, statement
        if (known := self._lost.get(key, self._seen.get(key))) is not None:
            return known
        # What leads back to itself decides nothing.
        self._seen[key] = frozenset()
        self._scopes.spend(len(variable.reads))
        reads = variable.reads if statement is None else self._scopes.reaching(variable, statement)
        found = self._all(self._fate(read, held=held) for read in reads)
        if found is not None:
            self._seen[key] = found
        return found

    def _all(self, fates: Iterable[Lines | None]) -> Lines | None:
        lines: set[int] = set()
        for fate in fates:
            if fate is None:
                return None
            lines |= fate
        return frozenset(lines)


def _spoken(call: ast.Call) -> str:
    said = call.func
    names: list[str] = []
    while isinstance(said, ast.Attribute):
        names.append(said.attr)
        said = said.value
    if isinstance(said, ast.Name):
        names.append(said.id)
    return f"{'.'.join(reversed(names)) or '…'}({'…' if call.args or call.keywords else ''})"
