"""Boards for the tests of the core: open ones, and what can be taken away from them.

Boards drawn at random are nearly always locked and prove nothing. These start with every tool open; a test then takes
one thing away, or several, and looks at what that alone does.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from hypothesis import strategies as st
from tests.core.launching import launches

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import (
    Catalogue,
    Health,
    Listing,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
    build_catalogue,
)
from pegboard.core.model.ids import (
    BuiltinKey,
    PrincipalId,
    ProviderKey,
    ServerId,
    ServerKey,
    SourceKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
)
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import AllToolsets, Selection, TheseToolsets, View
from pegboard.core.model.server import AllButTools, DeclaredAt, InstalledBy, OnlyTools, Server, Stdio, Trust
from pegboard.core.model.settings import PresentationSettings
from pegboard.core.model.tool import OwnTools, Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, DeclaredSettings, Denial, Policy, PolicyDecisions, Switch

T = TypeVar("T")

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ME = PrincipalId("me")
FILE = DeclaredAt("pegboard.yaml", 7)
PERSON = InstalledBy(ME, NOW)


def key(text: str) -> ServerKey:
    toolset, server = text.split("~")
    return ServerKey(ToolsetId(toolset), ServerId(server))


GITHUB = key("dev~github")
DEV_FILES = key("dev~files")
DOCS_FILES = key("docs~files")
MATH = ToolsetKey(ToolsetId("math"))
BUILTINS = BuiltinKey()
SERVERS = (GITHUB, DEV_FILES, DOCS_FILES)
PROVIDERS: tuple[ProviderKey, ...] = (*SERVERS, MATH)
SOURCES: tuple[SourceKey, ...] = (*PROVIDERS, BUILTINS)
TOOLSETS = tuple(ToolsetId(id) for id in ("dev", "docs", "math"))
NAMES = ("read", "write", "list", "dev__read", "docs__files__read", "a:b", "read file", "what?", "工具", "x" * 70)
SECRET = "withheld-"
"""Begins every text that only an approved tool may show."""


@dataclass(frozen=True)
class Board:
    catalogue: Catalogue
    policy: Policy

    @property
    def tools(self) -> Mapping[ToolId, Tool]:
        return self.catalogue.tools

    def with_health(self, source: SourceKey, health: Health) -> "Board":
        listings = {**self.catalogue.listings, source: replace(self.catalogue.listings[source], health=health)}
        return replace(self, catalogue=Catalogue(listings))

    def with_spec(self, tool: ToolId, spec: ToolSpec) -> "Board":
        listing = self.catalogue.listings[tool.source]
        tools = tuple(replace(each, spec=spec) if each.id == tool else each for each in listing.tools)
        return replace(
            self, catalogue=Catalogue({**self.catalogue.listings, tool.source: replace(listing, tools=tools)})
        )

    def with_server(self, changed: Server) -> "Board":
        declared = self.policy.declared
        return self.declaring(servers={**declared.servers, changed.key: changed})

    def declaring(
        self,
        *,
        servers: Mapping[ProviderKey, Server] | None = None,
        toolsets: Mapping[ToolsetId, Toolset] | None = None,
        selection: Selection | None = None,
        denials: tuple[Denial, ...] | None = None,
        overrides: tuple[Override, ...] | None = None,
        presenting: PresentationSettings | None = None,
    ) -> "Board":
        was = self.policy.declared
        declared = replace(
            was,
            servers=_or(servers, was.servers),
            toolsets=_or(toolsets, was.toolsets),
            selection=_or(selection, was.selection),
            denials=_or(denials, was.denials),
            overrides=_or(overrides, was.overrides),
            presentation=_or(presenting, was.presentation),
        )
        return replace(self, policy=replace(self.policy, declared=declared))

    def deciding(
        self,
        *,
        switches: Mapping[ToolId | ServerKey | ToolsetId, Switch] | None = None,
        approvals: Mapping[ToolId, Approval] | None = None,
        overrides: tuple[Override, ...] | None = None,
        manifest_overrides: tuple[Override, ...] | None = None,
        trust: Mapping[ProviderKey, Trust] | None = None,
        grants: Mapping[PrincipalId, frozenset[ToolsetId]] | None = None,
    ) -> "Board":
        was = self.policy.decisions
        decided = replace(
            was,
            switches=_or(switches, was.switches),
            approvals=_or(approvals, was.approvals),
            overrides=_or(overrides, was.overrides),
            manifest_overrides=_or(manifest_overrides, was.manifest_overrides),
            trust=_or(trust, was.trust),
            grants=_or(grants, was.grants),
        )
        return replace(self, policy=replace(self.policy, decisions=decided))


def _or(new: T | None, old: T) -> T:
    return old if new is None else new


def server(key: ProviderKey, **changes: object) -> Server:
    reached = Stdio("true") if isinstance(key, ServerKey) else OwnTools("0" * 64)
    return replace(Server(key, reached, FILE), **changes)  # type: ignore[arg-type]  # checked by dataclasses


def toolset(id: str, *, enabled: bool = True) -> Toolset:
    return Toolset(ToolsetId(id), FILE, enabled=enabled)


def tool(source: SourceKey, name: str, description: str = "") -> Tool:
    return Tool(ToolId(source, name), ToolSpec(name, description=description))


def board(tools: Iterable[Tool], *, trust: Trust = Trust.STRICT, sources: Iterable[SourceKey] = ()) -> Board:
    """These tools, every one of them up, approved, switched on and selected."""
    hung = tuple(tools)
    listed = {*sources, *(each.id.source for each in hung)}
    return Board(
        build_catalogue(
            [Listing(source, ProviderUp(NOW), tuple(t for t in hung if t.id.source == source)) for source in listed]
        ),
        Policy(
            DeclaredSettings(
                servers={s: server(s, trust=trust) for s in sorted(listed, key=str) if not isinstance(s, BuiltinKey)},
                toolsets={s.toolset: toolset(s.toolset) for s in sorted(listed, key=str) if s != BUILTINS},
            ),
            PolicyDecisions(
                version=3,
                approvals={t.id: Approval(t.spec, ME, NOW) for t in hung if t.id.source != BUILTINS},
            ),
        ),
    )


@dataclass(frozen=True)
class Damage:
    """One thing taken away from an open board, and the status it must give to a tool of a server or toolset."""

    name: str
    status: str
    do: Callable[[Board, ToolId], Board]
    of_people_only: bool = True
    """Whether it needs what people declare or install: of the gateway's own tools there is nothing to take away."""


def _server_of(board: Board, id: ToolId) -> Server:
    assert not isinstance(id.source, BuiltinKey)
    return board.policy.declared.servers[id.source]


OFF = Switch(False, ME, NOW, "out of order")


def _undeclared(board: Board, id: ToolId) -> Board:
    return board.declaring(servers={k: s for k, s in board.policy.declared.servers.items() if k != id.source})


def _unapproved(board: Board, id: ToolId) -> Board:
    return board.deciding(approvals={k: a for k, a in board.policy.decisions.approvals.items() if k != id})


def _changed(board: Board, id: ToolId) -> Board:
    spec = board.tools[id].spec
    return board.with_spec(id, replace(spec, description=spec.description + " and more"))


def _pattern(id: ToolId) -> Pattern:
    return Pattern(str(id.source), id.name.replace("?", "[?]"))


DAMAGES: tuple[Damage, ...] = (
    Damage(
        "toolset switched off",
        "server_disabled",
        lambda b, t: b.deciding(switches={**b.policy.decisions.switches, t.toolset: OFF}),
    ),
    Damage(
        "server declared off",
        "server_disabled",
        lambda b, t: b.with_server(replace(_server_of(b, t), enabled=False)),
    ),
    Damage(
        "server quarantined",
        "server_quarantined",
        lambda b, t: b.with_server(replace(_server_of(b, t), quarantined=True)),
    ),
    Damage(
        "not among the enabled_tools",
        "disabled_by_config",
        lambda b, t: b.with_server(replace(_server_of(b, t), limit=OnlyTools(("another",)))),
    ),
    Damage(
        "among the disabled_tools",
        "disabled_by_config",
        lambda b, t: b.with_server(replace(_server_of(b, t), limit=AllButTools(("another", t.name)))),
    ),
    Damage(
        "denied by a pattern",
        "disabled_by_config",
        lambda b, t: b.declaring(denials=(*b.policy.declared.denials, Denial(_pattern(t), FILE))),
        of_people_only=False,
    ),
    Damage(
        "denied by a declared override",
        "disabled_by_config",
        lambda b, t: b.declaring(
            overrides=(*b.policy.declared.overrides, Override(t.toolset, t, enabled=False, is_declared=True))
        ),
        of_people_only=False,
    ),
    Damage(
        "switched off",
        "disabled_by_user",
        lambda b, t: b.deciding(switches={**b.policy.decisions.switches, t: OFF}),
        of_people_only=False,
    ),
    Damage(
        "hidden by a person's override",
        "disabled_by_user",
        lambda b, t: b.deciding(overrides=(*b.policy.decisions.overrides, Override(t.toolset, t, enabled=False))),
        of_people_only=False,
    ),
    Damage(
        "hidden by its manifest",
        "disabled_by_user",
        lambda b, t: b.deciding(
            switches={what: switch for what, switch in b.policy.decisions.switches.items() if what != t},
            manifest_overrides=(
                *b.policy.decisions.manifest_overrides,
                Override(t.toolset, t, enabled=False, from_manifest=True),
            ),
        ),
    ),
    Damage("never approved", "pending_approval", _unapproved),
    Damage("changed since approval", "pending_approval", _changed),
    Damage(
        "down",
        "server_unavailable",
        lambda b, t: b.with_health(t.source, ProviderDown(NOW, "exited with code 1")),
        of_people_only=False,
    ),
    Damage(
        "starting",
        "server_unavailable",
        lambda b, t: b.with_health(t.source, ProviderStart(2, NOW)),
        of_people_only=False,
    ),
    Damage(
        "needs sign-in",
        "server_unavailable",
        lambda b, t: b.with_health(t.source, ProviderNeedsSignIn(NOW)),
        of_people_only=False,
    ),
    Damage(
        "not running", "server_unavailable", lambda b, t: b.with_health(t.source, ProviderOff()), of_people_only=False
    ),
    Damage("nobody's", "disabled_unknown", _undeclared),
)


# --- strategies ------------------------------------------------------------------------------------------------------

# Text as servers send it: any character, lone surrogates too, since JSON can spell them.
texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
json_objects: st.SearchStrategy[JsonObject] = st.dictionaries(texts, json_values, max_size=3)


def spec(id: ToolId, variant: int) -> ToolSpec:
    """One of a handful, with text in every place in which text hides."""
    secret = f"{SECRET}{variant:02}"
    parameter: JsonObject = {"type": "string", "description": secret, "enum": [secret], "default": secret}
    schema: JsonObject = {"type": "object", "properties": {"path": parameter}, "required": ["path"]}
    return ToolSpec(
        id.name,
        title=secret if variant & 1 else None,
        description=secret,
        input_schema=schema,
        output_schema=schema if variant & 2 else None,
        annotations={"readOnlyHint": True, "title": secret} if variant & 4 else None,
    )


EVERY_ID = tuple(ToolId(source, name) for source in SOURCES for name in NAMES)
# Those of people thrice: most of what can go wrong goes wrong with them.
OF_PEOPLE = tuple(id for id in EVERY_ID if id.source != BUILTINS)
ids = st.sampled_from([*EVERY_ID, *OF_PEOPLE, *OF_PEOPLE])


@st.composite
def open_boards(draw: st.DrawFn) -> Board:
    """Every tool open. Some servers ask for approval, some are trusted; some tools are switched on in words."""
    # Few draws, each deciding much: generating is what the time of these tests goes into.
    dice = draw(st.integers(0, 2**16 - 1))
    chosen = draw(st.lists(ids, min_size=1, max_size=7, unique=True))
    hung = [Tool(id, spec(id, (dice + place) % 8)) for place, id in enumerate(chosen)]
    ways = (Trust.STRICT, Trust.BASELINE, Trust.STRICT, Trust.OPEN)
    on = Switch(True, ME, NOW)
    return board(hung, sources=SOURCES).deciding(
        trust={s: ways[dice >> (1 + 2 * place) & 3] for place, s in enumerate(PROVIDERS)},
        switches={t.id: on for place, t in enumerate(hung) if dice >> (9 + place) & 1},
        grants={ME: frozenset({*TOOLSETS, ToolsetId("builtin")})} if dice & 1 else {},
    )


def damaging(board: Board, id: ToolId, damages: Iterable[Damage]) -> Board:
    for damage in damages:
        if not isinstance(id.source, BuiltinKey) or not damage.of_people_only:
            board = damage.do(board, id)
    return board


def damaged(board: Board, wrong: Iterable[tuple[Damage, ToolId]]) -> Board:
    # Undeclaring a server removes what the other damages change, so it comes last.
    for damage, id in sorted(wrong, key=lambda one: one[0].name == "nobody's"):
        if isinstance(id.source, BuiltinKey) or id.source in board.policy.servers:
            board = damaging(board, id, [damage])
    return board


@st.composite
def boards(draw: st.DrawFn) -> Board:
    """An open board with one to four things wrong with it, and sometimes a selection and grants of its own."""
    made = draw(open_boards())
    every = sorted(made.tools)
    wrong = draw(st.lists(st.tuples(st.sampled_from(DAMAGES), st.sampled_from(every)), min_size=1, max_size=4))
    made = damaged(made, wrong)
    more = draw(st.integers(0, 7))
    if more & 3 == 3:
        made = made.declaring(selection=draw(selections()))
    if more & 5 == 5:
        made = made.deciding(grants={ME: frozenset(draw(st.lists(st.sampled_from(TOOLSETS), max_size=3)))})
    return made


references = st.one_of(
    ids.map(str),
    st.sampled_from(NAMES),
    st.sampled_from(["toolset:dev", "toolset:docs", "mcp:dev~github", "mcp:github:read", "mcp:files:read"]),
    st.sampled_from(["*:read*", "dev:*", "files:*", "*~files:[rw]*", "mcp:docs~*", "*", "dev__files__read"]),
    st.sampled_from(["nothing", "toolset:nothing", "mcp:no~where", "mcp:", ":", "", "[", "reed"]),
    texts,
)


@st.composite
def selections(draw: st.DrawFn) -> Selection:
    named = draw(st.none() | st.lists(st.sampled_from([*TOOLSETS, "builtin", "nothing"]), max_size=3))
    chosen = draw(st.lists(references, max_size=4))
    split = draw(st.integers(0, len(chosen)))
    return Selection(
        toolsets=AllToolsets() if named is None else TheseToolsets(tuple(named)),
        enabled=tuple(chosen[:split]),
        disabled=tuple(chosen[split:]),
    )


views = st.builds(View, st.just(ME), st.lists(selections(), max_size=2).map(tuple), st.just(()) | st.tuples(launches))
