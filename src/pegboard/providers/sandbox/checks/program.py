"""The names of a program: in which scope each is bound, and where it is read. Only looked at, never run."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pegboard.core.model.python_text import parse_module
from pegboard.ports.sandbox import SandboxFunction

_FUNCTION_NODES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSION_NODES: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MAX_STEPS: Final = 200_000
"""Of looking from statement to statement. What takes more was written to take time."""


class AnalysisLimitError(Exception):
    """Whatever there is to say of the program, it would take too long to find."""


@dataclass(eq=False)
class ProgramVariable:
    scope: ast.AST
    binders: list[ast.AST] = field(default_factory=list[ast.AST])
    """A name that is stored, a definition, an argument, or what an import names."""


class Scopes:
    """Of a whole program. Walks it without recursion: how deep it is nested is whoever wrote it to say."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes: Final[list[ast.AST]] = []
        self.parent: Final[dict[ast.AST, ast.AST]] = {}
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

    def variable(self, name: ast.Name) -> ProgramVariable | None:
        """`None` for a name that the program does not bind."""
        return self._resolved_names.get(name)

    def function_of(self, node: ast.AST) -> ast.AST:
        """What it is run in: a function, a generator, or the program. Other comprehensions are run where they stand."""
        scope = self._scope_of_node[node]
        while isinstance(scope, ast.ListComp | ast.SetComp | ast.DictComp):
            scope = self._scope_of_node[scope]
        return scope

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
            for child in ast.iter_child_nodes(node):
                self.parent[child] = node
                ahead.append((child, self._scope_of(child, node, scope)))

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


# What the names of a program mean where it calls them.

HOST_FUNCTION: Final = "the host's"
STR_METHOD: Final = "of a text"


class NameResolver:
    def __init__(self, scopes: Scopes, hosted: frozenset[tuple[str, str]]) -> None:
        self._scopes: Final = scopes
        self._host_functions: Final = hosted

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

    def callee(self, function: ast.expr, depth: int = 0) -> str | None:
        """What is known of it by this name; `None` of which nothing is, as of the program's own functions."""
        match function:
            case ast.Attribute(value=ast.Name() as owner, attr=name):
                module = self._module_of_name(owner)
                return None if module is None else self._callee_of_member(module, name)
            case ast.Attribute(value=ast.Constant(value=str()) | ast.JoinedStr()):
                return STR_METHOD
            case ast.Name():
                return self._callee_of_name(function, depth)
            case _:
                return None

    def _callee_of_name(self, name: ast.Name, depth: int) -> str | None:
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
        above = self._scopes.parent.get(binder)
        if isinstance(binder, ast.alias) and isinstance(above, ast.ImportFrom) and not above.level:
            return self._callee_of_member(above.module or "", binder.name)
        value = self.only_value(name)
        return self.callee(value, depth + 1) if isinstance(value, ast.Attribute | ast.Name) else None

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
    names: NameResolver


def parse_program(text: str, functions: Iterable[SandboxFunction]) -> ParsedProgram | None:
    """`None` of what Python cannot read, or takes too long to."""
    if _is_too_deep(text):
        return None
    try:
        scopes = Scopes(parse_module(text))
    except UNREADABLE_ERRORS:
        return None
    return ParsedProgram(scopes, NameResolver(scopes, frozenset((each.module, each.name) for each in functions)))


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
