"""A tool as its provider describes it, and its fingerprint."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NewType, TypeAlias

from pegboard.core.json.values import EMPTY, lazy_json, materialize
from pegboard.core.json.values import Json as Json
from pegboard.core.json.values import JsonObject as JsonObject
from pegboard.core.model.ids import ToolId

JsonSchema: TypeAlias = Mapping[str, "Json"]
Fingerprint = NewType("Fingerprint", str)


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What the provider claims of a tool. Claims inform a policy; they are never proof."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


_ANY_OBJECT: Final = lazy_json({"type": "object"})


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """All that a model is shown of a tool, and so all that an approval is an approval of.

    Its objects are kept folded: see there.
    """

    name: str
    title: str | None = None
    description: str = ""
    input_schema: JsonSchema = field(default_factory=lambda: _ANY_OBJECT)
    output_schema: JsonSchema | None = None
    annotations: Mapping[str, Json] | None = None
    _fingerprint: Fingerprint | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for member in ("input_schema", "output_schema", "annotations"):
            if (value := getattr(self, member)) is not None:
                object.__setattr__(self, member, lazy_json(value))

    @property
    def fingerprint(self) -> Fingerprint:
        """Worked out once, when somebody asks: most tools of a board whose servers are trusted openly never are."""
        if self._fingerprint is None:
            shown = {
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "inputSchema": self.input_schema,
                "outputSchema": self.output_schema,
                "annotations": self.annotations,
            }
            object.__setattr__(self, "_fingerprint", Fingerprint(hashlib.sha256(canonical_json(shown)).hexdigest()))
            assert self._fingerprint is not None
        return self._fingerprint

    @property
    def members(self) -> JsonObject:
        """As JSON, by the names of its fields."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "input_schema": dict(self.input_schema),
            "output_schema": None if self.output_schema is None else dict(self.output_schema),
            "annotations": None if self.annotations is None else dict(self.annotations),
        }

    @property
    def claims_destructive(self) -> bool:
        """Whether it says so itself. Silence means destructive to the protocol, and claims nothing."""
        return (self.annotations or {}).get("destructiveHint") is True

    @property
    def hints(self) -> ToolHints:
        """The annotations as claims, with the protocol's defaults; anything but a boolean claims nothing."""
        told = self.annotations or {}

        def claim(key: str, default: bool) -> bool:
            value = told.get(key)
            return value if isinstance(value, bool) else default

        return ToolHints(
            claim("readOnlyHint", False),
            claim("destructiveHint", True),
            claim("idempotentHint", False),
            claim("openWorldHint", True),
        )


@dataclass(frozen=True, slots=True)
class Tool:
    id: ToolId
    spec: ToolSpec
    extra: Mapping[str, Json] = field(default_factory=lambda: EMPTY)
    """What else the provider sent (icons, `_meta`): passed on as it came, shown to no model."""
    is_checked_by_provider: bool = False
    """Whether its provider checks arguments itself, in words that its callers know."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "extra", lazy_json(self.extra))


def canonical_json(value: object) -> bytes:
    """One text for equal JSON values. Nothing a careless server sends makes it fail, be it lone surrogates or depth."""
    try:
        text = _dumps(value)
    except RecursionError:
        text = "".join(_canonical_pieces(value))
    return text.encode("utf-8", "surrogatepass")


_dumps: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=materialize).encode


def _canonical_pieces(value: object) -> Iterator[str]:
    """The same text as `_dumps`, by a stack of its own instead of the interpreter's."""
    waiting: list[tuple[bool, object]] = [(False, value)]
    while waiting:
        done, item = waiting.pop()
        if done:
            yield str(item)
        elif isinstance(item, Mapping):
            waiting.append((True, "}"))
            for place, key in reversed([*enumerate(sorted(item))]):
                waiting += ((False, item[key]), (True, f"{',' if place else ''}{_dumps(key)}:"))
            waiting.append((True, "{"))
        elif isinstance(item, list | tuple):
            waiting.append((True, "]"))
            for place, element in reversed([*enumerate(item)]):
                waiting += ((False, element), (True, "," if place else ""))
            waiting.append((True, "["))
        else:
            yield _dumps(item)


# What a toolset brings itself, beside MCP servers: Python functions, and commands that run in containers.

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ToolsetLimits:
    """What one toolset may take: bytes of memory for a process, seconds for a call, processes at a time."""

    memory: int = 512 * MIB
    seconds: float = 60.0
    processes: int = 4


@dataclass(frozen=True)
class ContainerImage:
    """A container as the manifest asks for it. What it does not ask for, it does not get."""

    image: str
    args: tuple[str, ...] = ()
    """Added to the engine's `run IMAGE`: what the image's entrypoint gets."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Values may hold `${…}` references; they are read only when the container starts."""
    network: bool = False
    workspace: bool = False
    """Whether the toolset's own folder is mounted at `/workspace`, for reading and writing."""
    memory: int = 256 * MIB
    pids: int = 64
    cpus: float | None = None


@dataclass(frozen=True)
class PythonTool:
    """A function of the toolset's own files, as it was described when it was installed."""

    entrypoint: str
    """`package.module:function`."""
    spec: ToolSpec
    """Its name is the tool's id within the toolset."""


@dataclass(frozen=True)
class ContainerTool:
    """A command that reads JSON arguments from its input and writes JSON or text."""

    container: str
    """The container's id in the manifest."""
    command: tuple[str, ...]
    spec: ToolSpec
    seconds: float | None = None


@dataclass(frozen=True)
class OwnTools:
    """How a toolset's own tools are reached: in worker processes with its files, and in its containers."""

    digest: str
    """Names its files, all of them and their content: `toolsets/{toolset}/{digest}` in the data directory."""
    python: tuple[PythonTool, ...] = ()
    requirements: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    """The names of those that its tools ask for. Their values are kept elsewhere, encrypted."""
    workspace: bool = False
    bounds: ToolsetLimits = field(default_factory=ToolsetLimits)
    containers: Mapping[str, ContainerImage] = field(default_factory=dict[str, ContainerImage])
    commands: tuple[ContainerTool, ...] = ()
    linked: str | None = None
    """The folder of its author, where it runs from and is followed; `None` for files that were copied."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return (*(tool.spec for tool in self.python), *(tool.spec for tool in self.commands))
