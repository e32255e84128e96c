"""The board of these tests: the files and folders of the seeds, a bench with every kind of answer, a locked vault."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import anyio
from tests.surfaces.mcp.bench import Bench, Run, failed, returned, tool
from tests.surfaces.mcp.doubles import MemoryAudit, MemoryStore

from pegboard.core.calls.call import Arguments, Outcome, ProviderFailure, ToolSuccess
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.selection import Selection
from pegboard.core.model.server import DeclaredAt, Server, Stdio, Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, PolicyDecisions
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.ports.databases import EngineFactory
from pegboard.ports.providers import Progress
from pegboard.ports.stores import TicketStore

HERE = DeclaredAt("pegboard.yaml", 1)
SECRET = "swordfish"
"""Stands in everything of the vault that a model could read: it must reach no client."""

OPEN_TOOLS = [
    *("echo", "add", "odd", "fail", "break_off", "vanish", "steps", "wait", "grow", "shrink", "fall", "plan"),
    *("create_file", "get_file", "delete_file", "create_folder", "get_folder", "delete_folder"),
]


def key(server: str) -> ServerKey:
    return ServerKey(ToolsetId(server), ServerId(server))


async def say_nothing(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return returned("done")


async def echo(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return returned(str(arguments["text"]))


async def add(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    a, b = arguments["a"], arguments["b"]
    assert isinstance(a, int)
    assert isinstance(b, int)
    return returned(str(a + b), structuredContent={"total": a + b})


ODD = (
    b'{"content":[{"type":"text","text":"one","annotations":{"audience":["user"],"priority":0.5},"mood":"calm"},'
    b'{"type":"hologram","frames":[1,null]}],"structuredContent":{"none":null,"big":123456789012345678901234567890},'
    b'"_meta":{"example.org/trace":"t-1"},"vintage":1987}'
)


async def odd(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return ToolSuccess(ODD)


async def fail(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return failed("The glue is dry.")


async def break_off(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return ProviderFailure("the server closed its end", may_have_run=True)


async def vanish(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    return ProviderFailure("the server does not take connections", may_have_run=False)


async def steps(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    if progress is None:
        return returned("nobody listens")
    for step in range(1, 4):
        progress(step, 3, f"step {step}")
        await anyio.lowlevel.checkpoint()
    return returned("all done")


async def wait(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    bench.started.set()
    if arguments.get("report"):
        return returned(str(bench.cancelled))
    if progress is not None:
        progress(0, None, "waiting")
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


async def grow(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    bench.grow()
    return returned("grown")


async def shrink(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    bench.shrink()
    return returned("shrunk")


async def fall(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
    bench.fall()
    return returned("fallen")


BENCH = key("bench")
PLAN: JsonObject = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Step"}},
    "$defs": {"Step": {"type": "object", "properties": {"then": {"type": "array", "items": {"$ref": "#/$defs/Step"}}}}},
}
TOOLS: Mapping[str, tuple[Tool, Run]] = {
    "echo": (
        tool(
            BENCH,
            ToolSpec(
                "echo",
                "Echo",
                "Says it again. Grüße, 你好.",
                {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
                None,
                {"readOnlyHint": True, "title": "Echo!"},
            ),
            icons=[{"src": "data:image/png;base64,AAAA", "sizes": ["48x48"]}],
            _meta={"example.org/shelf": 3},
        ),
        echo,
    ),
    "add": (
        tool(
            BENCH,
            ToolSpec(
                "add",
                None,
                "Adds two numbers.",
                {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "required": ["a", "b"],
                },
                {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]},
            ),
        ),
        add,
    ),
    "odd": (tool(BENCH, ToolSpec("odd", None, "Answers with members that no protocol knows.")), odd),
    "fail": (tool(BENCH, ToolSpec("fail", None, "Fails.")), fail),
    "break_off": (tool(BENCH, ToolSpec("break_off", None, "Breaks off.")), break_off),
    "vanish": (tool(BENCH, ToolSpec("vanish", None, "Is not there.")), vanish),
    "steps": (tool(BENCH, ToolSpec("steps", None, "Tells how far it is.")), steps),
    "wait": (tool(BENCH, ToolSpec("wait", None, "Waits; with report, says how often it was given up.")), wait),
    "grow": (tool(BENCH, ToolSpec("grow", None, "Hangs up one more tool.")), grow),
    "shrink": (tool(BENCH, ToolSpec("shrink", None, "Takes it down again.")), shrink),
    "fall": (tool(BENCH, ToolSpec("fall", None, "Takes the bench down.")), fall),
    "plan": (tool(BENCH, ToolSpec("plan", None, "Has a schema that refers to itself.", PLAN)), say_nothing),
}
LATE = {"late": (tool(BENCH, ToolSpec("late", None, "Hung up last.")), say_nothing)}
VAULT = {
    "open_vault": (
        tool(
            key("vault"),
            ToolSpec(
                "open_vault",
                f"The {SECRET}",
                f"Give the {SECRET}.",
                {"type": "object", "properties": {SECRET: {"type": "string", "description": SECRET}}},
                {"type": "object", "description": SECRET},
                {"title": SECRET},
            ),
            _meta={"example.org/word": SECRET},
        ),
        say_nothing,
    )
}


def plain(server: str, *names: str) -> Mapping[str, tuple[Tool, Run]]:
    return {name: (tool(key(server), ToolSpec(name, None, f"Would {name}.")), say_nothing) for name in names}


SHELVES: Mapping[ServerKey, Mapping[str, tuple[Tool, Run]]] = {
    BENCH: TOOLS,
    key("files"): plain("files", "create_file", "get_file", "delete_file"),
    key("folders"): plain("folders", "create_folder", "get_folder", "delete_folder"),
    key("vault"): VAULT,
}


def server(name: str, trust: Trust = Trust.OPEN) -> Server:
    return Server(key(name), Stdio("unused"), HERE, trust=trust)


DECLARED = DeclaredSettings(
    servers={shelf: server(shelf.server, Trust.STRICT if shelf == key("vault") else Trust.OPEN) for shelf in SHELVES},
    toolsets={shelf.toolset: Toolset(shelf.toolset, HERE) for shelf in SHELVES},
    overrides=(
        Override(
            ToolsetId("files"),
            ToolId(key("files"), "get_file"),
            name_override="Look at a file",
            description_override="Shows what is in a file.",
            is_declared=True,
        ),
    ),
)


@dataclass
class Workshop:
    gateway: Gateway
    audit: MemoryAudit
    benches: dict[ServerKey, Bench] = field(default_factory=dict)

    @property
    def bench(self) -> Bench:
        return self.benches[BENCH]


@asynccontextmanager
async def open_workshop(
    declared: DeclaredSettings = DECLARED,
    *,
    selection: Selection | None = None,
    shelves: Mapping[ServerKey, Mapping[str, tuple[Tool, Run]]] = SHELVES,
    held: frozenset[ServerKey] = frozenset(),
    tickets: TicketStore | None = None,
    decided: PolicyDecisions | None = None,
    programs: ProgramBackend | None = None,
    engines: EngineFactory | None = None,
) -> AsyncIterator[Workshop]:
    """A running gateway over these shelves, with every server up but those that are held in their start."""
    if selection is not None:
        declared = replace(declared, selection=selection)
    benches: dict[ServerKey, Bench] = {}

    def provider_for(server: Server) -> Bench:
        assert isinstance(server.key, ServerKey)
        late = LATE if server.key == BENCH else {}
        return benches.setdefault(server.key, Bench(server, shelves[server.key], late, server.key in held))

    audit = MemoryAudit()
    async with open_gateway(
        *(declared, MemoryStore(decided), audit, provider_for, lambda: datetime.now(UTC)),
        tickets=tickets,
        programs=programs,
        engines=engines,
    ) as gateway:
        if not held:
            assert await gateway.board.wait_until_started(60)
        yield Workshop(gateway, audit, benches)
