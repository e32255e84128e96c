"""Manifests of every kind, as the plain values that a file would hold."""

from typing import Any

from hypothesis import strategies as st

from pegboard.core.model.ids import RESERVED_TOOLSETS

IDS = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True).filter(lambda id: id not in RESERVED_TOOLSETS)
TOOL_IDS = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True)
AWKWARD = st.sampled_from(
    [
        *("1.0", "0x1F", "1e3", "null", "~", "yes", "on", "true", ".inf", "<<", "=", "-", "2024-01-01", "12:30:45"),
        *("#", "'", '"', "@x", "%a", "|", ">", "&a", "*a", "!a", "{", "[", "?", ",", "`", "\\", ",a"),
        *("- a", "a: b", "a #b", " a", "a "),
    ]
)
LINE = (
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp", "Cf"]), max_size=20)
    | AWKWARD
)
WORDS = st.lists(LINE, min_size=1, max_size=4).map("\n".join)
PLAIN = st.from_regex(r"[A-Za-z0-9 ./:=_-]{0,12}", fullmatch=True) | AWKWARD
REFERENCE = NAMES.map(lambda name: f"${{{name}}}")
SECONDS = st.integers(1, 10_000) | st.floats(0.001, 9_999, allow_nan=False) | st.sampled_from(["500ms", "30s", "2 m"])
SIZES = st.sampled_from(["64MB", "1g", "100 MiB", 16 * 1024 * 1024, 16 * 1024 * 1024 + 1, "20480k"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6, allow_nan=False) | LINE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TOOL_IDS, inner, max_size=3),
    max_leaves=6,
)
BLANK = st.none()


def maps(required: dict[str, Any], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional={name: inner | BLANK for name, inner in optional.items()})


def unique(
    entries: st.SearchStrategy[dict[str, Any]], key: str = "id", most: int = 3
) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(entries, max_size=most, unique_by=lambda entry: entry[key])


TOOL = maps(
    {"id": TOOL_IDS, "entrypoint": st.sampled_from(["tools:run", "tools.weather:forecast", "a.b.c:d_e"])},
    name=LINE,
    description=WORDS,
    requires_confirmation=st.booleans(),
    renderer=st.sampled_from(["code", "markdown", {"type": "code", "language": "json"}, {"type": "json"}, "default"]),
)
COMMON = {
    "enabled": st.booleans(),
    "disabled_tools": st.lists(st.sampled_from(["a", "b_*", "1", "a,b"]), max_size=2),
    "timeouts": st.fixed_dictionaries({}, optional={"start": SECONDS, "call": SECONDS, "stop": SECONDS}),
    "protocol": st.sampled_from(["latest", "handshake"]),
    "requires_confirmation": st.booleans(),
}
SERVER = maps(
    {"id": IDS, "command": st.sampled_from(["npx", "./bin/serve", "bin/a b", "/usr/bin/x", "~/x", "./${X}", "${Y}"])},
    args=st.lists(PLAIN | REFERENCE, max_size=3),
    env=st.dictionaries(st.sampled_from(["LEVEL", "1", "a b", "null", "ü"]), PLAIN | REFERENCE, max_size=3),
    cwd=st.sampled_from(["data", ".", "/tmp", "a/b", "${Z}/x", "a/${Z}"]),
    start=st.just("on_demand"),
    transport=st.just("stdio"),
    **COMMON,
) | maps(
    {"id": IDS, "url": st.sampled_from(["https://example.org/mcp", "http://localhost:80", "${URL}"])},
    headers=st.dictionaries(
        st.sampled_from(["X-Level", "X-Mode"]), st.from_regex(r"[a-z ]{0,9}", fullmatch=True) | REFERENCE
    ),
    transport=st.sampled_from(["http", "sse", "streamable-http"]),
    oauth=st.sampled_from([False, {}, {"client_id": "me", "scopes": ["a", "b:c"]}]),
    **COMMON,
)
COMMAND = maps(
    {"id": TOOL_IDS.map(lambda id: f"c_{id}"), "command": st.lists(PLAIN, max_size=2).map(lambda rest: ["run", *rest])},
    name=LINE,
    description=WORDS,
    input_schema=st.just({"properties": {"a": {"type": "string"}}}) | st.just({"type": "object"}),
    output_schema=st.just({"type": "object", "additionalProperties": False}),
    timeout=SECONDS,
    requires_confirmation=st.booleans(),
)
IMAGE = {
    "args": st.lists(PLAIN | REFERENCE, max_size=2),
    "env": st.dictionaries(st.sampled_from(["LEVEL", "MODE"]), PLAIN | REFERENCE, max_size=2),
    "network": st.booleans(),
    "workspace": st.booleans(),
    "memory": SIZES,
    "pids": st.integers(1, 100),
    "cpus": st.sampled_from([1, 0.5, 2.25]),
    "idle_stop": SECONDS,
}
NAMED = {"id": IDS.map(lambda id: f"box-{id}"), "image": st.sampled_from(["alpine", "localhost/a:1", "a@sha256:0f"])}
CONTAINER = (
    maps({**NAMED, "mcp": st.just(True)}, **IMAGE)
    | maps({**NAMED, "tools": st.lists(COMMAND, min_size=1, max_size=1)}, **IMAGE)
    | maps(NAMED, mcp=st.just(False), **IMAGE)
)
TARGETS = st.sampled_from(
    [
        "run",
        "read_*",
        "*:read_*",
        "[ab]*:x",
        "files:*",
        "nowhere:x",
        "mcp:mcp:x",
        "mcp:toolset:y",
        "mcp:*:z",
        "files:a:b",
    ]
)
ARGUMENT = st.one_of(
    st.fixed_dictionaries({"pin": JSON.filter(lambda value: "$" not in str(value))}),
    st.just({"hide": True}),
    st.fixed_dictionaries(
        {"default": JSON.filter(lambda value: "$" not in str(value))}, optional={"description": st.just("Words.")}
    ),
)
OVERRIDE = maps(
    {"tool_id": TARGETS, "enabled": st.booleans()},
    name_override=LINE.filter(str.strip),
    description_override=WORDS.filter(str.strip),
    requires_confirmation=st.booleans(),
    arguments=st.dictionaries(st.sampled_from(["level", "1", "null", "a b"]), ARGUMENT, min_size=1, max_size=2),
) | st.fixed_dictionaries(
    {"tool_id": TARGETS, "renderer": st.just("json"), "renderer_config": st.just({"value": "$return.a"})}
)
SECRET = st.fixed_dictionaries({"name": NAMES}, optional={"description": WORDS | BLANK})


def _is_unambiguous(manifest: dict[str, Any]) -> bool:
    commands = [tool for each in manifest.get("containers") or [] for tool in each.get("tools") or []]
    ids = [tool["id"] for tool in (*(manifest.get("tools") or []), *commands)]
    servers = [each["id"] for name in ("mcp_servers", "containers") for each in manifest.get(name) or []]
    return len({*ids}) == len(ids) and len({*servers}) == len(servers)


MANIFESTS = maps(
    {"id": IDS},
    manifest_version=st.sampled_from([1, "1"]),
    name=LINE,
    version=st.sampled_from(["1.0", "1", "2.10.0-rc.1", "null", "1e3", "v2"]),
    description=WORDS,
    tools=unique(TOOL),
    mcp_servers=unique(SERVER),
    containers=unique(CONTAINER, most=2),
    tool_overrides=unique(OVERRIDE, "tool_id"),
    requirements=st.lists(st.sampled_from(["httpx>=0.27", "a[b] == 1 ; python_version > '3'", "x @ https://h/x"])),
    secrets=unique(SECRET, "name"),
    workspace=st.booleans(),
    limits=maps({}, memory=SIZES, time=SECONDS, processes=st.integers(1, 64)),
).filter(_is_unambiguous)
