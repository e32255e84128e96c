"""What the calls of a program give: an answer, or something that must be awaited first."""

import ast
import builtins
from collections.abc import Sequence
from typing import Final, TypeAlias

from .scopes import Function, Scopes, ends

HOST: Final = "the host's"
TEXT: Final = "of a text"
GATHER: Final = "asyncio.gather"
AWAITED: Final = frozenset({GATHER, "asyncio.sleep", "asyncio.wait_for", "asyncio.wait", "asyncio.shield"})

Callee: TypeAlias = str | Function | None
"""A function of the program's own, or what is known of another by this name; `None` of which nothing is."""


class Awaiting:
    def __init__(self, scopes: Scopes, hosted: frozenset[tuple[str, str]], begun: frozenset[str] = frozenset()) -> None:
        """What is `begun` runs without being awaited."""
        self._scopes: Final = scopes
        self._hosted: Final = hosted
        self._awaited: Final = AWAITED - begun
        self._needs: Final[dict[ast.AST, int]] = {}

    def needs(self, node: ast.AST) -> int:
        """How many times it must be awaited before there is an answer, where that is certain."""
        match node:
            case ast.Call():
                callee = self.callee(node.func)
                if isinstance(callee, str):
                    return int(callee == HOST or callee in self._awaited)
                return 0 if callee is None else self._function(callee)
            case ast.Await():
                return max(0, self.needs(node.value) - 1)
            case ast.Name():
                value = self.only_value(node)
                return 0 if value is None else self._once(node, value)
            case _:
                return 0

    def _once(self, node: ast.AST, value: ast.AST) -> int:
        if node not in self._needs:
            self._needs[node] = 0
            self._needs[node] = self.needs(value)
        return self._needs[node]

    def _function(self, function: Function) -> int:
        if function in self._needs:
            return self._needs[function]
        own = int(isinstance(function, ast.AsyncFunctionDef))
        self._needs[function] = own
        if isinstance(function, ast.Lambda):
            self._needs[function] = self.needs(function.body)
        elif function in self._scopes.yielding or function.decorator_list:
            self._needs[function] = 0
        elif ends(function.body):
            given = [each.value for each in self._scopes.returns.get(function, ())]
            self._needs[function] = own + min((0 if each is None else self.needs(each) for each in given), default=0)
        return self._needs[function]

    def gathers_calls(self, value: ast.expr) -> bool:
        """Whether answers of this are calls themselves."""
        if not (isinstance(value, ast.Call) and self.callee(value.func) == GATHER and value.args):
            return False
        return all(self._element(each) > 1 for each in value.args)

    def _element(self, node: ast.expr) -> int:
        if not isinstance(node, ast.Starred):
            return self.needs(node)
        held: ast.AST | None = node.value
        if isinstance(held, ast.Name):
            held = self.only_value(held)
        return self.needs(held.elt) if isinstance(held, ast.ListComp | ast.GeneratorExp) else 0

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
                module = self._module(owner)
                return None if module is None else self._member(module, name)
            case ast.Attribute(value=ast.Constant(value=str()) | ast.JoinedStr()):
                return TEXT
            case ast.Lambda():
                return function
            case ast.Name():
                return self._named(function, depth)
            case _:
                return None

    def _named(self, name: ast.Name, depth: int) -> Callee:
        variable = self._scopes.variable(name)
        if variable is None:
            return HOST if ("", name.id) in self._hosted else name.id if hasattr(builtins, name.id) else None
        if len(variable.binders) != 1 or depth > 5:
            return None
        binder = variable.binders[0]
        if isinstance(binder, ast.FunctionDef | ast.AsyncFunctionDef):
            return None if isinstance(variable.scope, ast.ClassDef) or binder.decorator_list else binder
        above = self._scopes.parent.get(binder)
        if isinstance(binder, ast.alias) and isinstance(above, ast.ImportFrom) and not above.level:
            return self._member(above.module or "", binder.name)
        value = self.only_value(name)
        return self.callee(value, depth + 1) if isinstance(value, ast.Attribute | ast.Name | ast.Lambda) else None

    def hosted(self, function: ast.expr, depth: int = 0) -> tuple[str, str] | None:
        """Which of the host's functions it is, by module and name."""
        found: tuple[str, str] | None = None
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module = self._module(function.value)
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
                    return self.hosted(value, depth + 1)
        return found if found in self._hosted else None

    def _member(self, module: str, name: str) -> str:
        return HOST if (module, name) in self._hosted else f"{module}.{name}"

    def _module(self, name: ast.Name) -> str | None:
        variable = self._scopes.variable(name)
        binders: Sequence[ast.AST] = () if variable is None else variable.binders
        modules = {
            each.name
            for each in binders
            if isinstance(each, ast.alias) and isinstance(self._scopes.parent[each], ast.Import)
        }
        return modules.pop() if len(modules) == 1 and all(isinstance(each, ast.alias) for each in binders) else None
