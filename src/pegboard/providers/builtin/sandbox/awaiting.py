"""What the calls of a program give: an answer, or something that must be awaited first."""

import ast
import builtins
from collections.abc import Sequence
from typing import Final, TypeAlias

from .scopes import FunctionNode, Scopes, is_terminal_block

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
