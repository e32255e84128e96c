"""The names of a program: in which scope each is bound, and where it is read. Only looked at, never run."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pegboard.core.model.python_text import parse_module
from pegboard.ports.sandbox import SandboxFunction

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTION_NODES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSION_NODES: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOP_NODES: Final = (ast.For, ast.AsyncFor, ast.While)
_TRY_NODES: Final = (ast.Try, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))
Position: TypeAlias = tuple[int, int]
_MAX_STEPS: Final = 200_000
"""Of looking from statement to statement. What takes more was written to take time."""


class AnalysisLimitError(Exception):
    """Whatever there is to say of the program, it would take too long to find."""


@dataclass(eq=False)
class ProgramVariable:
    scope: ast.AST
    binders: list[ast.AST] = field(default_factory=list[ast.AST])
    """A name that is stored, a definition, an argument, or what an import names."""
    reads: list[ast.Name] = field(default_factory=list[ast.Name])


class Scopes:
    """Of a whole program. Walks it without recursion: how deep it is nested is whoever wrote it to say."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes: Final[list[ast.AST]] = []
        self.parent: Final[dict[ast.AST, ast.AST]] = {}
        self.returns: Final[dict[ast.AST, list[ast.Return]]] = {}
        self.generator_scopes: Final[set[ast.AST]] = set()
        self._interrupted_nodes: Final[set[ast.AST]] = set()
        self._steps_left = _MAX_STEPS
        self._tree: Final = tree
        self._scope_of_node: Final[dict[ast.AST, ast.AST]] = {}
        self._declared_elsewhere: Final[dict[tuple[ast.AST, str], bool]] = {}
        self._variables: Final[dict[tuple[ast.AST, str], ProgramVariable]] = {}
        self._resolved_names: Final[dict[ast.Name, ProgramVariable]] = {}
        bound: list[tuple[str, ast.AST, ast.AST]] = []
        self._walk(bound)
        for name, binder, scope in bound:
            if isinstance(self.parent.get(binder), ast.NamedExpr):
                while isinstance(scope, _COMPREHENSION_NODES):
                    scope = self._scope_of_node[scope]
            owner = self._owner(name, scope)
            variable = self._variables.setdefault((owner, name), ProgramVariable(owner))
            variable.binders.append(binder)
        for node in self.nodes:
            if isinstance(node, ast.Name) and (known := self._resolve(node.id, self._scope_of_node[node])) is not None:
                self._resolved_names[node] = known
                if isinstance(node.ctx, ast.Load):
                    known.reads.append(node)

    def variable(self, name: ast.Name) -> ProgramVariable | None:
        """`None` for a name that the program does not bind."""
        return self._resolved_names.get(name)

    def function_of(self, node: ast.AST) -> ast.AST:
        """What it is run in: a function, a generator, or the program. Other comprehensions are run where they stand."""
        scope = self._scope_of_node[node]
        while isinstance(scope, ast.ListComp | ast.SetComp | ast.DictComp):
            scope = self._scope_of_node[scope]
        return scope

    def statement(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, ast.stmt | ast.Module):
            node = self.parent[node]
        return node

    def reads_after(self, variable: ProgramVariable, stored: ast.AST) -> list[ast.Name]:
        """The reads that may see what this statement stores, and perhaps some that do not."""
        self.spend(len(variable.reads))
        function = self.function_of(stored)
        if function is not variable.scope:
            return variable.reads
        first, last = _end_position(stored), None
        above = self.parent[stored]
        is_tried = False
        while above is not function and above in self.parent:
            self.spend(1)
            is_tried = is_tried or isinstance(above, _TRY_NODES)
            if isinstance(above, _LOOP_NODES):
                first = _start_position(above)
            above = self.parent[above]
        if not is_tried and (again := self._next_store(variable, stored)) is not None:
            first, last = _end_position(stored), _end_position(again)
        return [
            read
            for read in variable.reads
            if self.function_of(read) is not function
            or (_start_position(read) >= first and (last is None or _start_position(read) < last))
        ]

    def _next_store(self, variable: ProgramVariable, stored: ast.AST) -> ast.AST | None:
        """The next statement of the same block that stores something else for certain."""
        for block in _blocks(self.parent[stored]):
            if stored in block:
                self.spend(len(block))
                for each in block[block.index(stored) + 1 :]:
                    if each in self._interrupted_nodes:
                        return None
                    if isinstance(each, ast.Assign) and any(
                        isinstance(target, ast.Name) and self.variable(target) is variable for target in each.targets
                    ):
                        return each
        return None

    def _walk(self, bound: list[tuple[str, ast.AST, ast.AST]]) -> None:
        ahead: list[tuple[ast.AST, ast.AST]] = [(self._tree, self._tree)]
        while ahead:
            node, scope = ahead.pop()
            self.nodes.append(node)
            self._scope_of_node[node] = scope
            bound += ((name, node, scope) for name in _bound_names(node))
            if isinstance(node, ast.Global | ast.Nonlocal):
                for name in node.names:
                    self._declared_elsewhere[scope, name] = isinstance(node, ast.Global)
            elif isinstance(node, ast.Return):
                self.returns.setdefault(scope, []).append(node)
            elif isinstance(node, ast.Yield | ast.YieldFrom):
                self.generator_scopes.add(scope)
            elif isinstance(node, ast.Break | ast.Continue):
                self._mark_interrupted(node)
            for child in ast.iter_child_nodes(node):
                self.parent[child] = node
                ahead.append((child, self._scope_of(child, node, scope)))

    def _mark_interrupted(self, node: ast.AST) -> None:
        while node not in self._interrupted_nodes and node is not self._tree:
            self._interrupted_nodes.add(node)
            node = self.parent[node]

    def spend(self, steps: int) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise AnalysisLimitError

    def _scope_of(self, child: ast.AST, node: ast.AST, scope: ast.AST) -> ast.AST:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return node if isinstance(child, ast.arguments | ast.stmt) else scope
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return node
            case ast.arguments() if not isinstance(child, ast.arg):
                return self._scope_of_node[scope]
            case ast.arg():
                return self._scope_of_node[scope]
            case ast.comprehension() if child is node.iter:
                whole = self.parent[node]
                assert isinstance(whole, _COMPREHENSION_NODES)
                return self._scope_of_node[scope] if whole.generators[0] is node else scope
            case _:
                return scope

    def _owner(self, name: str, scope: ast.AST) -> ast.AST:
        """The scope in which a name is bound that this one binds."""
        is_global = self._declared_elsewhere.get((scope, name))
        if is_global is None:
            return scope
        if is_global:
            return self._tree
        above = self._scope_of_node[scope]
        while not isinstance(above, _FUNCTION_NODES) and above is not self._tree:
            above = self._scope_of_node[above]
        return self._owner(name, above) if above is not self._tree else above

    def _resolve(self, name: str, scope: ast.AST) -> ProgramVariable | None:
        at, is_inner = scope, False
        while True:
            is_global = self._declared_elsewhere.get((at, name))
            if is_global:
                return self._variables.get((self._tree, name))
            if is_global is None and not (is_inner and isinstance(at, ast.ClassDef)):
                found = self._variables.get((at, name))
                if found is not None:
                    return found
            if at is self._tree:
                return None
            at, is_inner = self._scope_of_node[at], True


def is_terminal_block(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing comes out at its end."""
    match body[-1]:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=first, orelse=[*_, _] as second):
            return is_terminal_block(first) and is_terminal_block(second)
        case ast.With(body=inner) | ast.AsyncWith(body=inner):
            return is_terminal_block(inner)
        case ast.Try(body=inner, handlers=handlers, orelse=[]):
            return is_terminal_block(inner) and all(is_terminal_block(each.body) for each in handlers)
        case _:
            return False


def _bound_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=known):
            yield known or name.split(".")[0]
        case (
            ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name)
        ):
            yield name
        case ast.MatchMapping(rest=str() as name):
            yield name
        case _:
            pass


def _blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    for _, value in ast.iter_fields(node):
        if isinstance(value, list):
            yield value


def _start_position(node: ast.AST) -> Position:
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno, node.col_offset


def _end_position(node: ast.AST) -> Position:
    assert isinstance(node, ast.expr | ast.stmt)
    return node.end_lineno or node.lineno, node.end_col_offset or 0


# What the calls of a program give: an answer, or something that must be awaited first.

HOST_FUNCTION: Final = "the host's"
STR_METHOD: Final = "of a text"
GATHER: Final = "asyncio.gather"
AWAITABLE_FUNCTIONS: Final = frozenset({GATHER, "asyncio.sleep", "asyncio.wait_for", "asyncio.wait", "asyncio.shield"})

Callee: TypeAlias = str | FunctionNode | None
"""A function of the program's own, or what is known of another by this name; `None` of which nothing is."""


class AwaitAnalysis:
    def __init__(self, scopes: Scopes, hosted: frozenset[tuple[str, str]], begun: frozenset[str] = frozenset()) -> None:
        """What is `begun` runs without being awaited."""
        self._scopes: Final = scopes
        self._host_functions: Final = hosted
        self._awaitable_functions: Final = AWAITABLE_FUNCTIONS - begun
        self._await_counts: Final[dict[ast.AST, int]] = {}

    def await_count(self, node: ast.AST) -> int:
        """How many times it must be awaited before there is an answer, where that is certain."""
        match node:
            case ast.Call():
                callee = self.callee(node.func)
                if isinstance(callee, str):
                    return int(callee == HOST_FUNCTION or callee in self._awaitable_functions)
                return 0 if callee is None else self._function_await_count(callee)
            case ast.Await():
                return max(0, self.await_count(node.value) - 1)
            case ast.Name():
                value = self.only_value(node)
                return 0 if value is None else self._value_await_count(node, value)
            case _:
                return 0

    def _value_await_count(self, node: ast.AST, value: ast.AST) -> int:
        if node not in self._await_counts:
            self._await_counts[node] = 0
            self._await_counts[node] = self.await_count(value)
        return self._await_counts[node]

    def _function_await_count(self, function: FunctionNode) -> int:
        if function in self._await_counts:
            return self._await_counts[function]
        own = int(isinstance(function, ast.AsyncFunctionDef))
        self._await_counts[function] = own
        if isinstance(function, ast.Lambda):
            self._await_counts[function] = self.await_count(function.body)
        elif function in self._scopes.generator_scopes or function.decorator_list:
            self._await_counts[function] = 0
        elif is_terminal_block(function.body):
            given = [each.value for each in self._scopes.returns.get(function, ())]
            self._await_counts[function] = own + min(
                (0 if each is None else self.await_count(each) for each in given), default=0
            )
        return self._await_counts[function]

    def is_gather_of_calls(self, value: ast.expr) -> bool:
        """Whether answers of this are calls themselves."""
        if not (isinstance(value, ast.Call) and self.callee(value.func) == GATHER and value.args):
            return False
        return all(self._element_await_count(each) > 1 for each in value.args)

    def _element_await_count(self, node: ast.expr) -> int:
        if not isinstance(node, ast.Starred):
            return self.await_count(node)
        held: ast.AST | None = node.value
        if isinstance(held, ast.Name):
            held = self.only_value(held)
        return self.await_count(held.elt) if isinstance(held, ast.ListComp | ast.GeneratorExp) else 0

    def only_value(self, name: ast.Name) -> ast.expr | None:
        variable = self._scopes.variable(name)
        if variable is None or len(variable.binders) != 1:
            return None
        stored = self._scopes.parent.get(variable.binders[0])
        match stored:
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ):
                return value
            case _:
                return None

    def callee(self, function: ast.expr, depth: int = 0) -> Callee:
        match function:
            case ast.Attribute(value=ast.Name() as owner, attr=name):
                module = self._module_of_name(owner)
                return None if module is None else self._callee_of_member(module, name)
            case ast.Attribute(value=ast.Constant(value=str()) | ast.JoinedStr()):
                return STR_METHOD
            case ast.Lambda():
                return function
            case ast.Name():
                return self._callee_of_name(function, depth)
            case _:
                return None

    def _callee_of_name(self, name: ast.Name, depth: int) -> Callee:
        variable = self._scopes.variable(name)
        if variable is None:
            return (
                HOST_FUNCTION
                if ("", name.id) in self._host_functions
                else name.id
                if hasattr(builtins, name.id)
                else None
            )
        if len(variable.binders) != 1 or depth > 5:
            return None
        binder = variable.binders[0]
        if isinstance(binder, ast.FunctionDef | ast.AsyncFunctionDef):
            return None if isinstance(variable.scope, ast.ClassDef) or binder.decorator_list else binder
        above = self._scopes.parent.get(binder)
        if isinstance(binder, ast.alias) and isinstance(above, ast.ImportFrom) and not above.level:
            return self._callee_of_member(above.module or "", binder.name)
        value = self.only_value(name)
        return self.callee(value, depth + 1) if isinstance(value, ast.Attribute | ast.Name | ast.Lambda) else None

    def host_function(self, function: ast.expr, depth: int = 0) -> tuple[str, str] | None:
        """Which of the host's functions it is, by module and name."""
        found: tuple[str, str] | None = None
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module = self._module_of_name(function.value)
            found = None if module is None else (module, function.attr)
        elif isinstance(function, ast.Name):
            variable = self._scopes.variable(function)
            if variable is None:
                found = "", function.id
            elif len(variable.binders) == 1 and depth <= 5:
                binder = variable.binders[0]
                above = self._scopes.parent.get(binder)
                if isinstance(binder, ast.alias) and isinstance(above, ast.ImportFrom) and not above.level:
                    found = above.module or "", binder.name
                elif isinstance(value := self.only_value(function), ast.Attribute | ast.Name):
                    return self.host_function(value, depth + 1)
        return found if found in self._host_functions else None

    def _callee_of_member(self, module: str, name: str) -> str:
        return HOST_FUNCTION if (module, name) in self._host_functions else f"{module}.{name}"

    def _module_of_name(self, name: ast.Name) -> str | None:
        variable = self._scopes.variable(name)
        binders: Sequence[ast.AST] = () if variable is None else variable.binders
        modules = {
            each.name
            for each in binders
            if isinstance(each, ast.alias) and isinstance(self._scopes.parent[each], ast.Import)
        }
        return modules.pop() if len(modules) == 1 and all(isinstance(each, ast.alias) for each in binders) else None


# Programs read as Python, once for all that is told of them before they run. What takes too long is not read.

_MAX_BRACKET_DEPTH: Final = 100
"""Brackets within brackets. What is nested deeper is not read here."""
_BRACKETS: Final = re.compile(r"[()\[\]{}]")
_LONG_PREFIX_RUN: Final = re.compile(r"(?:(?:[-+~]|\bnot\b|\bawait\b)[ \t\\\n]*){50}")
_MAX_OCCURRENCES: Final = {"lambda": 100, " else ": 300, "**": 300, "elif": 300}
"""What each may stand in the one before, and how often nobody writes it."""
UNREADABLE_ERRORS: Final = (SyntaxError, ValueError, RecursionError, MemoryError, AnalysisLimitError)


@dataclass(frozen=True)
class ParsedProgram:
    scopes: Scopes
    awaits: AwaitAnalysis


def parse_program(
    text: str, functions: Iterable[SandboxFunction], begun: frozenset[str] = frozenset()
) -> ParsedProgram | None:
    """`None` of what Python cannot read, or takes too long to. What is `begun` need not be awaited to run."""
    if _is_too_deep(text):
        return None
    try:
        scopes = Scopes(parse_module(text))
    except UNREADABLE_ERRORS:
        return None
    return ParsedProgram(
        scopes, AwaitAnalysis(scopes, frozenset((each.module, each.name) for each in functions), begun)
    )


def _is_too_deep(text: str) -> bool:
    """Whether a parser might need more of a thread's stack than there is."""
    if _LONG_PREFIX_RUN.search(text) or any(text.count(word) > most for word, most in _MAX_OCCURRENCES.items()):
        return True
    depth = 0
    for character in _BRACKETS.findall(text):
        depth += 1 if character in "([{" else -1
        if depth > _MAX_BRACKET_DEPTH:
            return True
    return False
