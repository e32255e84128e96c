"""Law 10: what is written is what is read, on both engines, whatever the value."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.store.engines import now
from tests.store.generated import LONE, NASTY, decided, texts, tool_ids

from pegboard.core.json.values import Json
from pegboard.core.model.ids import BuiltinKey, PrincipalId, ServerId, ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.tool import OwnTools, ToolSpec
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, PolicyDecisions
from pegboard.ports.stores import SavedVersion
from pegboard.store.database import StoreError
from pegboard.store.open import Store
from pegboard.store.text import MAX_JSON_LEVELS, MAX_KEY_BYTES, index_key, restore_text, storable_text

ONE_FIXTURE_MANY_EXAMPLES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.large_base_example]
BY = PrincipalId("local")


async def kept(store: Store, value: PolicyDecisions) -> tuple[PolicyDecisions, PolicyDecisions]:
    """The value on top of whatever is there, as written and as read."""
    before = await store.policy.load()
    after = replace(value, version=before.version + 1)
    assert await store.policy.save(before, after, by=BY, what="test", at=now()) == SavedVersion(after.version)
    return after, await store.policy.load()


def exact(value: PolicyDecisions) -> object:
    """Equality tells `1`, `1.0` and `True` apart nowhere, and the text of a fingerprint everywhere."""
    prints = {str(tool): approval.fingerprint for tool, approval in value.approvals.items()}
    rows = (*value.overrides, *value.manifest_overrides)
    own = {
        str(key): [spec.fingerprint for spec in server.connection.specs]
        for key, server in value.servers.items()
        if isinstance(server.connection, OwnTools)
    }
    return prints, own, [json.dumps(row.renderer_config) for row in rows], [repr(row) for row in rows]


@pytest.mark.anyio
@pytest.mark.behaviour("law.rows_keep_values", "store.same_contract")
@settings(max_examples=60, suppress_health_check=ONE_FIXTURE_MANY_EXAMPLES)
@given(value=decided())
async def test_what_is_saved_is_what_is_loaded(store: Store, value: PolicyDecisions) -> None:
    written, read = await kept(store, value)
    assert read == written
    assert exact(read) == exact(written)


@pytest.mark.anyio
@pytest.mark.behaviour("law.rows_keep_values")
@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 10**400, "maximum": -(2**63) - 1},
        {"minimum": 1e308, "maximum": 5e-324, "default": -0.0},
        {"const": float("inf")},
        {"enum": [1, 1.0, True, "1", None]},
        {LONE: NASTY},
        {"deep": json.loads("[" * 300 + "]" * 300)},
        {"wide": ["x" * 1000] * 5000},
    ],
    ids=["huge integers", "extreme floats", "infinity", "look-alikes", "nasty texts", "deep", "five megabytes"],
)
async def test_an_approved_schema_keeps_its_fingerprint(store: Store, schema: dict[str, Json]) -> None:
    tool = ToolId(ServerKey(ToolsetId("dev"), ServerId("fs")), "read")
    spec = ToolSpec("read", None, LONE + "\x00", schema)
    written, read = await kept(store, PolicyDecisions(approvals={tool: Approval(spec, BY, now())}))
    assert read == written
    assert read.approvals[tool].fingerprint == spec.fingerprint


def nested(levels: int) -> dict[str, Json]:
    value: dict[str, Json] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.anyio
@pytest.mark.parametrize("levels", [MAX_JSON_LEVELS, 5000])
async def test_a_schema_too_deep_to_be_read_again_is_refused_and_leaves_the_store_usable(
    store: Store, levels: int
) -> None:
    tool = ToolId(ServerKey(ToolsetId("dev"), ServerId("fs")), "read")
    deep = Approval(ToolSpec("read", input_schema=nested(levels)), BY, now())
    with pytest.raises(StoreError, match=r"Version 1 cannot be kept: .*nested more than 500 levels deep"):
        await kept(store, PolicyDecisions(approvals={tool: deep}))
    # The spec itself is one level around its schema.
    fine = Approval(ToolSpec("read", input_schema=nested(MAX_JSON_LEVELS - 1)), BY, now())
    written, read = await kept(store, PolicyDecisions(approvals={tool: fine}))
    assert read.approvals[tool].fingerprint == written.approvals[tool].fingerprint


@pytest.mark.anyio
async def test_a_spec_that_python_calls_equal_to_the_approved_one_is_written_all_the_same(store: Store) -> None:
    tool = ToolId(ServerKey(ToolsetId("dev"), ServerId("fs")), "read")
    at = now()
    for default in (1, True, 1.0):
        spec = ToolSpec("read", input_schema={"default": default})
        _, read = await kept(store, PolicyDecisions(approvals={tool: Approval(spec, BY, at)}))
        assert read.approvals[tool].fingerprint == spec.fingerprint


@pytest.mark.anyio
@pytest.mark.behaviour("store.override_key")
async def test_a_tool_and_a_pattern_of_the_same_text_are_two_overrides_and_keep_their_order(store: Store) -> None:
    dev = ToolsetId("dev")
    targets: list[ToolId | Pattern] = [
        Pattern("dev", "x"),
        ToolId(ToolsetKey(dev), "x"),
        ToolId(BuiltinKey(), "x"),
        ToolId(ServerKey(dev, ServerId("x")), "mcp:a~b:c"),
        Pattern("dev~x", "mcp:a~b:c"),
    ]
    for order in (targets, targets[::-1], targets[2:] + targets[:2], targets[3:]):
        rows = tuple(Override(dev, target, renderer="code") for target in order)
        written, read = await kept(store, PolicyDecisions(overrides=rows))
        assert read.overrides == written.overrides == rows


@pytest.mark.anyio
async def test_names_too_long_for_an_index_are_kept_whole_and_apart(store: Store) -> None:
    source = ToolsetKey(ToolsetId("dev"))
    long = "é" * 3000
    impostor = index_key(f"{source}:{long}").removeprefix(f"{source}:")
    names = [long, long + "x", impostor, index_key(impostor), "😀" * 150, "a" * 5000]
    approvals = {ToolId(source, name): Approval(ToolSpec(name), BY, now()) for name in names}
    grants = {PrincipalId(name): frozenset({ToolsetId("dev")}) for name in names}
    written, read = await kept(store, PolicyDecisions(approvals=approvals, grants=grants))
    assert read == written


@given(texts)
@example("".join(NASTY))
def test_every_text_can_be_held_and_comes_back(text: str) -> None:
    held = storable_text(text)
    assert restore_text(held) == text
    assert "\x00" not in held.encode().decode()


@given(st.lists(tool_ids.map(str) | texts, unique=True))
@example(["a" * 700, index_key("a" * 700), index_key(index_key("a" * 700)), "a" * 701])
def test_two_texts_never_share_a_key_and_every_key_fits_an_index(names: list[str]) -> None:
    keys = [index_key(name) for name in names]
    assert len({*keys}) == len(names)
    assert all(len(storable_text(each).encode()) <= MAX_KEY_BYTES + 70 for each in keys)
