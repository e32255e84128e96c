"""What tools are called in a program: a module for each server or toolset, and a function in it for each tool.

A module's name follows from the server's id alone, and a function's from those of its module, so that a name means the
same tool in a search, in a stub and in a run. Ids are the truth: a name leads back to one.
"""

import builtins
import hashlib
import keyword
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Final, assert_never

from pegboard.core.model.ids import BUILTIN, BuiltinKey, ServerKey, SourceKey, ToolId, ToolsetKey
from pegboard.core.model.references import closest_names
from pegboard.core.model.settings import PYTHON

MAX_NAME_LENGTH: Final = 64
HEADER_NAMES: Final = ("Any", "Literal", "NotRequired", "Sequence", "TypedDict")
"""What stubs import: no function and no type has one of these names."""

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_]")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN: Final = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_KEYWORDS: Final = frozenset(keyword.kwlist)
_MODULES: Final = frozenset({*sys.stdlib_module_names, *dir(builtins), *_KEYWORDS, *HEADER_NAMES})
"""What means something else in a program: a server with such an id has a longer name there."""
_FUNCTIONS: Final = _KEYWORDS | frozenset(HEADER_NAMES)
_DIGEST_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class ProgramFunction:
    """A tool as programs call it."""

    module: str
    function: str
    id: ToolId

    def __str__(self) -> str:
        return f"{self.module}.{self.function}"


@lru_cache(maxsize=4096)
def module_name(source: SourceKey) -> str:
    """Of all tools of one server. Two servers whose ids are alike may share one."""
    match source:
        case ServerKey(toolset, server):
            text = str(toolset) if str(toolset) == str(server) else f"{toolset}__{server}"
        case ToolsetKey(toolset):
            text = str(toolset)
        case BuiltinKey():
            return BUILTIN
        case _:
            assert_never(source)
    name = _legal_name(text)
    return f"{name}_tools" if name in _MODULES else name if len(name) <= MAX_NAME_LENGTH else _hash_name(name, text)


def is_plain_name(name: str) -> bool:
    """Whether a program can write it as it is: as an argument or a member."""
    return _PLAIN.fullmatch(name) is not None and name not in _KEYWORDS


@dataclass(frozen=True)
class ProgramNames:
    """The names of some tools: of all that one caller may know of, so that they are the same in whatever it does."""

    by_module: Mapping[str, Sequence[ToolId]]
    locked_tools: Collection[ToolId] = frozenset()
    _tools_by_name: dict[str, Mapping[str, ToolId]] = field(default_factory=dict[str, Mapping[str, ToolId]])
    _names_by_tool: dict[str, Mapping[ToolId, str]] = field(default_factory=dict[str, Mapping[ToolId, str]])

    @classmethod
    def of(cls, ids: Iterable[ToolId], locked: Collection[ToolId] = frozenset()) -> "ProgramNames":
        """Work that grows with the tools is a look at each; a module's functions are named when somebody asks."""
        modules: dict[str, list[ToolId]] = {}
        for id in ids:
            if id.name != PYTHON or not isinstance(id.source, BuiltinKey):  # a program starts no other
                modules.setdefault(module_name(id.source), []).append(id)
        return cls(modules, locked)

    def functions(self, module: str) -> Mapping[str, ToolId]:
        if module not in self._tools_by_name:
            named = _function_names(self.by_module.get(module, ()), self.locked_tools)
            self._names_by_tool[module] = named
            self._tools_by_name[module] = {name: id for id, name in named.items()}
        return self._tools_by_name[module]

    def function_of(self, id: ToolId) -> ProgramFunction | None:
        module = module_name(id.source)
        self.functions(module)
        function = self._names_by_tool[module].get(id)
        return None if function is None else ProgramFunction(module, function, id)

    def tool_of(self, module: str, function: str) -> ToolId | None:
        return self.functions(module).get(function) if module in self.by_module else None

    def all_functions(self) -> Iterator[ProgramFunction]:
        for module in self.by_module:
            for function, id in self.functions(module).items():
                yield ProgramFunction(module, function, id)

    def mentioned_functions(self, code: str) -> tuple[ProgramFunction, ...]:
        """Those that a program can reach: module and function stand in it as words, wherever. More than it calls, and
        never fewer. It is not parsed here, because what is written to break a parser would break this process."""
        words = dict.fromkeys(_WORD.findall(code))
        found: list[ProgramFunction] = []
        for module in words:
            if module in self.by_module:
                functions = self.functions(module)
                found += (ProgramFunction(module, name, functions[name]) for name in _mentioned_names(words, functions))
        return tuple(found)

    def modules_in(self, code: str) -> tuple[str, ...]:
        """Those that a program names, whatever it wants of them."""
        return tuple(word for word in dict.fromkeys(_WORD.findall(code)) if word in self.by_module)

    def missing_functions(self, code: str) -> tuple[str, ...]:
        """What a program calls of a module that has no such function, each in words, with what it may have meant."""
        told: dict[str, None] = {}
        for module, function in dict.fromkeys((*_MODULE_CALL.findall(code), *_imported_names(code))):
            if (module, function) == (BUILTIN, PYTHON):
                told[f"{module} has no function {function!r}. {NOT_ITSELF}"] = None
            elif module in self.by_module and function not in (functions := self.functions(module)):
                near = closest_names(function, tuple(functions))
                meant = f" Did you mean {' or '.join(near)}?" if near else ""
                told[f"{module} has no function {function!r}.{meant}"] = None
        return tuple(told)[:_MAX_MISSING]


_MODULE_CALL: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,79})\s{0,8}\.\s{0,8}([A-Za-z_]\w{0,79})\s{0,8}\(", re.ASCII)
_MAX_MISSING: Final = 20
_FROM_IMPORT: Final = re.compile(
    r"^[ \t]*from[ \t]+([A-Za-z_]\w{0,79})[ \t]+import[ \t]+(\([^()]{1,2000}\)|[^\n#;()]{1,2000})",
    re.ASCII | re.MULTILINE,
)
NOT_ITSELF: Final = "A program cannot run another one: write both as one program."


def _imported_names(code: str) -> Iterator[tuple[str, str]]:
    for module, names in _FROM_IMPORT.findall(code):
        for name in names.strip("()").split(","):
            if words := _WORD.findall(name):
                yield module, words[0]


def _mentioned_names(words: Mapping[str, None], functions: Mapping[str, ToolId]) -> Iterator[str]:
    """In the order of the program."""
    return (word for word in words if word in functions)


def _function_names(ids: Sequence[ToolId], locked: Collection[ToolId]) -> Mapping[ToolId, str]:
    """A tool's own name where it is legal and nobody else's here. What several would have is nobody's, so that adding
    a tool never hands its name to another. Locked ones are named from what is left: they rename nothing."""
    named: dict[ToolId, str] = {}
    taken: set[str] = set()
    for group in ([id for id in ids if id not in locked], [id for id in ids if id in locked]):
        wanted = {id: _function_name(id.name) for id in group}
        counts = Counter(wanted.values())
        own = {id: name for id, name in wanted.items() if counts[name] == 1 and name not in taken}
        taken.update(counts)
        named |= own
        for id in sorted(wanted.keys() - own.keys()):
            attempts = (_hash_name(wanted[id], f"{id}#{attempt}") for attempt in count())
            named[id] = next(name for name in attempts if name not in taken)
            taken.add(named[id])
    return named


def _function_name(text: str) -> str:
    name = _legal_name(text)
    if len(name) > MAX_NAME_LENGTH:
        return _hash_name(name, text)
    return f"{name}_" if name in _FUNCTIONS else name


def _legal_name(text: str) -> str:
    name = _ILLEGAL.sub("_", text) or "_"
    # What begins with `_` is a module's own, as `__getattr__`.
    return name if name[0].isalpha() else f"tool{'' if name[0] == '_' else '_'}{name}"


def _hash_name(name: str, text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{name[: MAX_NAME_LENGTH - _DIGEST_LENGTH - 1]}_{digest}"
