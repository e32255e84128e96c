"""The functions of the host as a program has them: said when they are called, made when they are awaited."""

import asyncio
import builtins
import sys
import types
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from ...arguments import InvalidCallError, collect_arguments, too_many_calls_message  # noqa: TID252 - the jailed process knows its package by another name
from ...plain import BYTES_PER_VALUE, JsonBudget  # noqa: TID252 - the jailed process knows its package by another name
from .turns import Frame


class SendFrame(Protocol):
    def __call__(self, **frame: object) -> None: ...


@dataclass(frozen=True)
class _HostFunction:
    number: int
    name: str
    qualified_name: str
    parameters: tuple[str, ...]


class HostFunctions:
    def __init__(self, say: SendFrame, most: int, arguments: int) -> None:
        self._send = say
        self._max_calls = most
        self._budget = JsonBudget(arguments, BYTES_PER_VALUE)
        self._call_count = 0
        self._unawaited_calls: dict[int, tuple[int, int]] = {}
        self._pending: dict[int, tuple[asyncio.Future[Any], int]] = {}

    def install(self, module: types.ModuleType, functions: list[list[Any]], modules: list[str]) -> None:
        for owner in modules:
            _ensure_module(module, owner)
        for number, (owner, name, parameters) in enumerate(functions):
            place = _ensure_module(module, owner) if owner else module
            spoken = f"{owner}.{name}" if owner else name
            place.__dict__[name] = self._make_callable(_HostFunction(number, name, spoken, tuple(parameters)))

    def handle_answer(self, frame: Frame) -> None:
        waited = self._pending.pop(frame["n"], None)
        if waited is None:
            return
        future, size = waited
        self._budget.remaining += size
        if future.done():
            return
        if "type" in frame:
            future.set_exception(_make_exception(frame["type"], frame["message"]))
        else:
            future.set_result(frame["ok"])

    def unawaited_calls(self) -> list[tuple[int, int]]:
        """The calls that were never awaited: the number of the function, and the line."""
        return [*self._unawaited_calls.values()]

    def _make_callable(self, function: _HostFunction) -> Callable[..., Coroutine[Any, Any, Any]]:
        def call(*positional: Any, **named: Any) -> Coroutine[Any, Any, Any]:
            if self._call_count >= self._max_calls:
                raise RuntimeError(
                    too_many_calls_message(self._max_calls, self._call_count - len(self._unawaited_calls))
                )
            before = self._budget.remaining
            try:
                arguments = collect_arguments(function, positional, named, self._budget)
            except InvalidCallError as unfit:
                self._budget.remaining = before
                raise TypeError(str(unfit)) from None
            self._call_count += 1
            self._unawaited_calls[self._call_count] = function.number, sys._getframe(1).f_lineno
            return self._perform_call(self._call_count, function.number, arguments, before - self._budget.remaining)

        call.__name__ = function.name
        call.__qualname__ = function.qualified_name
        call.__module__ = "__main__"
        return call

    async def _perform_call(self, ordinal: int, function: int, arguments: dict[str, Any], size: int) -> Any:
        self._unawaited_calls.pop(ordinal, None)
        future = asyncio.get_running_loop().create_future()
        self._pending[ordinal] = future, size
        try:
            self._send(t="call", n=ordinal, f=function, a=arguments)
        except TypeError:
            self._pending.pop(ordinal)
            self._budget.remaining += size
            raise
        return await future


def _ensure_module(module: types.ModuleType, name: str) -> types.ModuleType:
    known = module.__dict__.get(name)
    place = known if isinstance(known, types.ModuleType) else types.ModuleType(name)
    module.__dict__[name] = place
    sys.modules.setdefault(name, place)
    return place


def _make_exception(name: str, message: str) -> Exception:
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(message)
        except TypeError:  # one that is made of more than words
            pass
    return RuntimeError(message)
