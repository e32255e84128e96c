"""The modules that a worker may import beside its own: the host's functions, under the names of their modules."""

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from pydantic_monty import ExternalModule

from pegboard.ports.sandbox import SandboxFunction

from .prelude import START_MODULE, functions_by_module


def build_external_modules(
    functions: Sequence[SandboxFunction], known: Sequence[str], stubs: Mapping[str, str] | None = None
) -> dict[str, ExternalModule]:
    """`known` are the modules, with functions or without."""
    told, members = stubs or {}, functions_by_module(functions)
    found = {
        module: ExternalModule(
            {each.name: make_placeholder(each.name) for each in members.get(module, ())}, stubs=told.get(module, "")
        )
        for module in known
    }
    return {START_MODULE: ExternalModule({}, stubs=""), **found}


def make_placeholder(name: str) -> Callable[..., NoReturn]:
    """What a worker is told of a function. It stops at the call, so this is never called."""

    def never(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a worker stops before it calls")

    never.__name__ = name
    return never
