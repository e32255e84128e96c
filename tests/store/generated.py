"""Policies and calls as nobody would write them but any server or person may send them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from pegboard.core.json.values import Json
from pegboard.core.model.confirmation import ConfirmationMode, PrincipalConfirmation
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
from pegboard.core.model.principals import ApiToken, Revocation, TokenScope
from pegboard.core.model.server import (
    AllButTools,
    Connection,
    Container,
    DeclaredAt,
    EveryTool,
    Http,
    InstalledBy,
    NoOAuth,
    OAuth,
    OnlyTools,
    Origin,
    ProtocolMode,
    Server,
    StartOnDemand,
    StartWithGateway,
    Stdio,
    Timeouts,
    Transport,
    Trust,
)
from pegboard.core.model.tool import (
    ContainerImage,
    ContainerTool,
    Fingerprint,
    OwnTools,
    PythonTool,
    ToolsetLimits,
    ToolSpec,
)
from pegboard.core.model.toolset import FileKind, Toolset, ToolsetFile, ToolsetImport, ToolsetOrigin
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import Approval, Consent, PolicyDecisions, Switch, Switchable

LONE = "\ud83d"
NASTY = ["", "\x00", "\x1a", "\x1a0000", LONE, "\ud83d\ude00", "\udfff\ud800", "😀", "é", "e\u0301", "\\u0000", "'; --"]
NASTY += ["\u202e", "\r\n\t", '"', "\\", "%s ? $1 :x", " ", "a" * 700, "…" * 300, "a" * 200 + LONE, "\x1a" * 200]

# Surrogates (category Cs) belong to the alphabet: a careless server sends them.
characters = st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("\x00\x1a")
texts = st.text(characters, max_size=20) | st.sampled_from(NASTY)
named = texts.filter(bool)

ids = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True)
toolset_ids = ids.map(ToolsetId)
principals = (texts | st.just("local")).map(PrincipalId)
# To the second: no zone has ever been finer, and Python 3.11 reads a smaller offset than a second as none.
zones = st.just(UTC) | st.integers(-72_000, 72_000).map(lambda offset: timezone(timedelta(seconds=offset)))
times = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=zones)
server_keys = st.builds(ServerKey, toolset_ids, ids.map(ServerId))
builtins = st.builds(ToolId, st.just(BuiltinKey()), st.sampled_from(["python_execution", "tool_search"]))
sources: st.SearchStrategy[SourceKey] = server_keys | st.builds(ToolsetKey, toolset_ids)
# No listing and no pattern is accepted with an empty name, and a row with one counts as unreadable.
tool_ids = st.builds(ToolId, sources, named) | builtins
patterns = st.builds(Pattern, named.filter(lambda text: ":" not in text), named)

numbers = st.integers() | st.integers(-(10**80), 10**80) | st.floats(allow_nan=False) | st.sampled_from([1, 1.0, -0.0])
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
specs = st.builds(
    ToolSpec, texts, st.none() | texts, texts, json_objects, st.none() | json_objects, st.none() | json_objects
)

origins: st.SearchStrategy[Origin] = st.builds(DeclaredAt, texts, st.integers(1, 10**6)) | st.builds(
    InstalledBy, principals, times
)
pairs = st.dictionaries(texts, texts, max_size=3)
lists = st.lists(texts, max_size=3).map(tuple)
optional = st.none() | texts
sign_ins = st.just(NoOAuth()) | st.builds(OAuth, optional, optional, optional, lists)
plain_connections = st.builds(Stdio, texts, lists, pairs, optional) | st.builds(
    Http, texts, st.sampled_from(Transport), pairs, sign_ins
)
few_bytes = st.integers(0, 2**50)
numbers_of_seconds = st.floats(0, allow_nan=False) | st.integers(0, 10**20)
images = st.builds(
    ContainerImage,
    texts,
    lists,
    pairs,
    st.booleans(),
    st.booleans(),
    few_bytes,
    few_bytes,
    st.none() | numbers_of_seconds,
)
connections: st.SearchStrategy[Connection] = plain_connections | st.builds(Container, images)
limits = (
    st.just(EveryTool()) | st.builds(OnlyTools, lists, optional=lists) | st.builds(AllButTools, lists, optional=lists)
)
seconds = st.floats(0, allow_nan=False) | st.integers(0, 10**20)
timeouts = st.builds(Timeouts, seconds, seconds, seconds)
brought = st.none() | st.builds(ToolsetImport, st.sampled_from(ToolsetOrigin), times, texts, texts, st.booleans())
toolsets = st.builds(Toolset, toolset_ids, origins, texts, texts, texts, st.booleans(), st.booleans(), brought)
servers = st.builds(
    Server,
    server_keys,
    connections,
    origins,
    st.booleans(),
    st.sampled_from(Trust),
    limits,
    timeouts,
    st.booleans(),
    st.just(StartWithGateway()) | st.builds(StartOnDemand, seconds),
    st.sampled_from(ProtocolMode),
)
toolset_keys = st.builds(ToolsetKey, toolset_ids)
provider_keys: st.SearchStrategy[ProviderKey] = server_keys | toolset_keys


@st.composite
def owns(draw: st.DrawFn) -> OwnTools:
    """What the core can make: no two tools of one toolset have the same name."""
    described = draw(st.lists(specs, max_size=4, unique_by=lambda spec: spec.name))
    split = draw(st.integers(0, len(described)))
    return OwnTools(
        draw(texts),
        tuple(PythonTool(draw(texts), spec) for spec in described[:split]),
        draw(lists),
        draw(lists),
        draw(st.booleans()),
        draw(st.builds(ToolsetLimits, few_bytes, numbers_of_seconds, few_bytes)),
        draw(st.dictionaries(ids, images, max_size=3)),
        tuple(
            ContainerTool(draw(texts), draw(lists), spec, draw(st.none() | numbers_of_seconds))
            for spec in described[split:]
        ),
        draw(optional),
    )


own_servers = st.builds(
    Server,
    toolset_keys,
    owns(),
    origins,
    st.booleans(),
    st.sampled_from(Trust),
    limits,
    timeouts,
    st.booleans(),
    st.just(StartWithGateway()) | st.builds(StartOnDemand, seconds),
)
files = st.lists(
    st.builds(ToolsetFile, texts, st.sampled_from(FileKind), st.just("0f" * 32), st.integers(0, 2**62), st.booleans()),
    min_size=1,
    max_size=4,
    unique_by=lambda file: file.path,
).map(lambda found: tuple(sorted(found, key=lambda file: file.path)))
switchables: st.SearchStrategy[Switchable] = tool_ids | server_keys | toolset_ids
# A block is never on.
switches = st.builds(Switch, st.booleans(), principals, times, texts) | st.builds(
    Switch, st.just(False), principals, times, texts, st.just(True)
)
approvals = st.builds(Approval, specs, principals, times, st.booleans())
maybe = st.none() | st.booleans()
# Drawn from a few: of drawing every value anew most would be drawn in vain, and hundreds of boards take minutes.
VALUES: tuple[Json, ...] = (None, 1, 1.0, True, "", LONE, "\x00", [], {"a": [LONE, 10**40]})
values = st.sampled_from([freeze_json(value) for value in VALUES])
arguments = st.builds(
    ArgumentOverride, st.none() | values, maybe, st.none() | values, st.none() | st.sampled_from(NASTY)
)
said = st.dictionaries(st.sampled_from(NASTY), arguments, max_size=2)
whose = st.dictionaries(
    st.sampled_from(NASTY),
    st.just(DeclaredAt("é:\x00", 7)) | st.just(InstalledBy(PrincipalId(LONE), datetime(2026, 1, 2, tzinfo=UTC))),
    max_size=2,
)
overrides = st.builds(
    Override,
    toolset_ids,
    tool_ids | patterns,
    st.none() | texts,
    st.none() | json_objects,
    st.none() | texts,
    st.none() | texts,
    maybe,
    st.none() | st.sampled_from(ConfirmationMode),
    maybe,
    st.none() | said,
    st.booleans(),
    whose,
)


consents = st.builds(
    Consent, ids, tool_ids, ids.map(Fingerprint), principals, optional, principals, times, st.none() | times
)


def _of_one_place(rows: Iterable[Override]) -> tuple[Override, ...]:
    return tuple({(row.toolset, row.target): row for row in rows}.values())


api_tokens = st.builds(
    ApiToken,
    ids,
    principals,
    texts,
    texts,
    st.binary(min_size=32, max_size=32),
    st.frozensets(st.sampled_from(TokenScope)),
    principals,
    times,
    st.none() | times,
    st.none() | st.builds(Revocation, principals, times),
)

confirmations = st.builds(
    PrincipalConfirmation,
    st.none() | st.booleans(),
    st.none() | st.sampled_from(ConfirmationMode),
    st.none() | st.builds(InstalledBy, principals, times),
    st.none() | st.builds(InstalledBy, principals, times),
)


@st.composite
def decided(draw: st.DrawFn) -> PolicyDecisions:
    """What the core can make: a server belongs to a toolset that is there, and one place has one override."""
    few: dict[str, Any] = {"max_size": 4}
    installed = {server.key: server for server in draw(st.lists(servers | own_servers, **few))}
    owners = {key.toolset for key in installed} | {toolset.id for toolset in draw(st.lists(toolsets, **few))}
    imported = [id for id in sorted(owners) if draw(st.booleans())]
    return PolicyDecisions(
        version=draw(st.integers(1, 2**40)),
        servers=installed,
        toolsets={id: draw(st.builds(Toolset, st.just(id), origins, texts, texts, texts)) for id in sorted(owners)},
        switches=draw(st.dictionaries(switchables, switches, **few)),
        approvals=draw(st.dictionaries(tool_ids, approvals, **few)),
        first_seen=draw(st.dictionaries(provider_keys, times, **few)),
        overrides=_of_one_place(draw(st.lists(overrides, **few))),
        trust=draw(st.dictionaries(provider_keys, st.sampled_from(Trust), **few)),
        grants=draw(st.dictionaries(principals, st.frozensets(toolset_ids, max_size=3), **few)),
        consents={consent.id: consent for consent in draw(st.lists(consents, **few))},
        files={id: draw(files) for id in imported},
        manifest_overrides=_of_one_place(replace(row, from_manifest=True) for row in draw(st.lists(overrides, **few))),
        tokens={token.id: token for token in draw(st.lists(api_tokens, **few))},
        confirmations=draw(st.dictionaries(principals, confirmations, **few)),
    )
