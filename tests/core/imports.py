"""Toolsets to import, for the tests of the core: one by hand, and any that hypothesis can think of."""

from dataclasses import replace
from typing import Final

from hypothesis import strategies as st
from tests.core.boards import ME, NOW, PERSON, key, spec

from pegboard.core.commands.toolset_install import InstallToolset
from pegboard.core.model.ids import ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import Container, Server, StartOnDemand, Stdio, Trust
from pegboard.core.model.tool import ContainerImage, ContainerTool, OwnTools, PythonTool
from pegboard.core.model.toolset import FileKind, Toolset, ToolsetFile
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, DeclaredSettings, Policy, PolicyDecisions, Switch

ID: Final = ToolsetId("kit")
KIT: Final = ToolsetKey(ID)
FETCH: Final = key("kit~fetch")
BOX: Final = key("kit~box")
MANIFEST: Final = ToolsetFile("toolset.yaml", FileKind.CONFIG, "0" * 64, 120)
NAMES: Final = ("add", "sum", "grep", "小さい")


def own_tool(name: str) -> ToolId:
    return ToolId(KIT, name)


def own(*names: str, variant: int = 0, digest: str = "a" * 64, commands: tuple[str, ...] = ()) -> Server:
    """Python functions of these names, and commands in a container."""
    brought = OwnTools(
        digest,
        tuple(PythonTool(f"tools.math:{name}", spec(own_tool(name), variant)) for name in names),
        containers={"busybox": ContainerImage("busybox:1")} if commands else {},
        commands=tuple(ContainerTool("busybox", ("run", name), spec(own_tool(name), variant)) for name in commands),
    )
    return Server(KIT, brought, PERSON, starts=StartOnDemand())


def server(key: ServerKey, command: str = "fetch") -> Server:
    return Server(key, Stdio(command), PERSON)


def contained(image: str = "box:1") -> Server:
    return Server(BOX, Container(ContainerImage(image)), PERSON)


def installing(
    *servers: Server,
    version: str = "1.0",
    overrides: tuple[Override, ...] = (),
    files: tuple[ToolsetFile, ...] = (MANIFEST,),
    approve: frozenset[ToolId] = frozenset(),
    sound: frozenset[ToolId] | None = None,
) -> InstallToolset:
    return InstallToolset(
        Toolset(ID, PERSON, "Kit", version, "Tools", user_mcp=False), servers, overrides, files, approve, sound
    )


@st.composite
def installs(draw: st.DrawFn) -> InstallToolset:
    """Few names, so that much of it is there before, and some of it is not, or is another."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    split = draw(st.integers(0, len(names)))
    variant = draw(st.integers(0, 2))
    mine = own(*names[:split], variant=variant, digest=draw(st.sampled_from("ab")) * 64, commands=tuple(names[split:]))
    mine = replace(mine, trust=draw(st.sampled_from(Trust)))
    servers = draw(st.sets(st.sampled_from(["fetch", "box"])))
    found = [mine] if names else []
    if "fetch" in servers:
        found.append(replace(server(FETCH, draw(st.sampled_from(["fetch", "fetch2"]))), enabled=draw(st.booleans())))
    if "box" in servers:
        found.append(contained(draw(st.sampled_from(["box:1", "box:2"]))))
    rows = draw(
        st.lists(
            st.builds(
                Override,
                st.just(ID),
                st.sampled_from(NAMES).map(own_tool) | st.just(Pattern("*", "*")),
                renderer=st.sampled_from([None, "code", "html"]),
                enabled=st.sampled_from([None, True, False]),
            ),
            max_size=3,
            unique_by=lambda row: row.target,
        )
    )
    more = draw(st.sets(st.sampled_from(["tools/math.py", "assets/a.txt"])))
    files = (MANIFEST, *(ToolsetFile(path, FileKind.ASSET, "1" * 64, 3) for path in more))
    ids = [own_tool(name) for name in names]
    some = st.sets(st.sampled_from(ids)).map(frozenset) if ids else st.just(frozenset[ToolId]())
    approve = draw(some)
    return installing(
        *found,
        version=draw(st.sampled_from(["0.9", "1.0", "1.0rc1", ""])),
        overrides=tuple(rows),
        files=files,
        approve=approve,
        sound=draw(st.none() | some),
    )


@st.composite
def decisions(draw: st.DrawFn) -> PolicyDecisions:
    """What people may have decided about the toolset and its neighbour before it is imported again."""
    tools = [*map(own_tool, NAMES), *(ToolId(each, "get") for each in (FETCH, BOX, OTHER))]
    variants = st.integers(0, 2)
    return PolicyDecisions(
        version=4,
        servers={OTHER: server(OTHER)},
        toolsets={OTHER.toolset: Toolset(OTHER.toolset, PERSON)},
        switches=draw(
            st.dictionaries(
                st.sampled_from([*tools, FETCH, OTHER, ID]), st.builds(Switch, st.booleans(), st.just(ME), st.just(NOW))
            )
        ),
        approvals={
            id: Approval(spec(id, draw(variants)), ME, NOW) for id in draw(st.sets(st.sampled_from(tools), max_size=5))
        },
        first_seen=dict.fromkeys(draw(st.sets(st.sampled_from([KIT, FETCH, OTHER]))), NOW),
        trust=dict.fromkeys(draw(st.sets(st.sampled_from([KIT, FETCH, OTHER]))), Trust.STRICT),
        overrides=tuple(
            Override(id.toolset, id, description_override="mine")
            for id in sorted(draw(st.sets(st.sampled_from(tools))))
        ),
        grants={ME: frozenset({ID, OTHER.toolset})},
    )


OTHER: Final = key("other~other")


def policy(decided: PolicyDecisions | None = None, declared: DeclaredSettings | None = None) -> Policy:
    return Policy(declared or DeclaredSettings(), decided or PolicyDecisions())
