"""The functions of the host as a program has them: said when they are called, made when they are awaited."""

import asyncio
import builtins
import sys
import types
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from ...arguments import Unfit, given, one_too_many  # noqa: TID252 - the jailed process knows its package by another name
from ...plain import HELD, Room  # noqa: TID252 - the jailed process knows its package by another name
from .turns import Frame


class Say(Protocol):
    def __call__(self, **frame: object) -> None: ...


@dataclass(frozen=True)
class _Function:
    number: int
    name: str
    spoken: str
    parameters: tuple[str, ...]


class Functions:
    def __init__(self, say: Say, most: int, arguments: int) -> None:
        self._say = say
        self._most = most
        self._room = Room(arguments, HELD)
        self._said = 0
        self._unawaited: dict[int, tuple[int, int]] = {}
        self._waiting: dict[int, tuple[asyncio.Future[Any], int]] = {}

    def put_into(self, module: types.ModuleType, functions: list[list[Any]], modules: list[str]) -> None:
        for owner in modules:
            _owner(module, owner)
        for number, (owner, name, parameters) in enumerate(functions):
            place = _owner(module, owner) if owner else module
            spoken = f"{owner}.{name}" if owner else name
            place.__dict__[name] = self._callable(_Function(number, name, spoken, tuple(parameters)))

    def answer(self, frame: Frame) -> None:
        waited = self._waiting.pop(frame["n"], None)
        if waited is None:
            return
        future, size = waited
        self._room.left += size
        if future.done():
            return
        if "type" in frame:
            future.set_exception(_raised(frame["type"], frame["message"]))
        else:
            future.set_result(frame["ok"])

    def forgotten(self) -> list[tuple[int, int]]:
        """The calls that were never awaited: the number of the function, and the line."""
        return [*self._unawaited.values()]

    def _callable(self, function: _Function) -> Callable[..., Coroutine[Any, Any, Any]]:
        def call(*positional: Any, **named: Any) -> Coroutine[Any, Any, Any]:
            if self._said >= self._most:
                raise RuntimeError(one_too_many(self._most, self._said - len(self._unawaited)))
            before = self._room.left
            try:
                arguments = given(function, positional, named, self._room)
            except Unfit as unfit:
                self._room.left = before
                raise TypeError(str(unfit)) from None
            self._said += 1
            self._unawaited[self._said] = function.number, sys._getframe(1).f_lineno
            return self._made(self._said, function.number, arguments, before - self._room.left)

        call.__name__ = function.name
        call.__qualname__ = function.spoken
        call.__module__ = "__main__"
        return call

    async def _made(self, ordinal: int, function: int, arguments: dict[str, Any], size: int) -> Any:
        self._unawaited.pop(ordinal, None)
        future = asyncio.get_running_loop().create_future()
        self._waiting[ordinal] = future, size
        try:
            self._say(t="call", n=ordinal, f=function, a=arguments)
        except TypeError:
            self._waiting.pop(ordinal)
            self._room.left += size
            raise
        return await future


def _owner(module: types.ModuleType, name: str) -> types.ModuleType:
    known = module.__dict__.get(name)
    place = known if isinstance(known, types.ModuleType) else types.ModuleType(name)
    module.__dict__[name] = place
    sys.modules.setdefault(name, place)
    return place


def _raised(name: str, message: str) -> Exception:
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(message)
        except TypeError:  # one that is made of more than words
            pass
    return RuntimeError(message)
