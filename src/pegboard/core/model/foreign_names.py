"""Names that Plugable and mcpproxy use for our settings and tools, for hints about unknown names."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pegboard.core.model.references import closest_names, misspellings
from pegboard.core.model.settings import CODE_MODE, FAMILY, NATIVE, PYTHON, SCHEMAS, SEARCH, SQL, TEXT_FORMATS

FORMATS: Final[Mapping[str, str]] = {name: name for name in (NATIVE, FAMILY, *TEXT_FORMATS, CODE_MODE)} | {
    "Native": NATIVE,
    "Hermes": "hermes",
    "Mistral": "mistral",
    "Pythonic": "pythonic",
    "PureJson": "json",
    "pure_json": "json",
    "CodeMode": CODE_MODE,
    "code_mode": CODE_MODE,
}
"""Every name by which a format is taken, in the file, on the command line and by the API. Ours are first."""

TOOLS: Final[Mapping[str, str]] = {
    # Plugable
    "schema_search": SCHEMAS,
    "sql_select": SQL,
    # mcpproxy
    "call_tool_read": "call_tool",
    "call_tool_write": "call_tool",
    "call_tool_destructive": "call_tool",
    "code_execution": PYTHON,
    "describe_tools": "describe_tool",
    "search_tools": SEARCH,
}
"""Built-in tools."""

ABSENT_TOOLS: Final[Mapping[str, str]] = {
    "code_execution": "Programs are run with python_execution, at /mcp/code.",
    "read_cache": "Results come whole, so there is nothing to read on.",
    "quarantine_security": "Only people review tools and servers: pegboard approvals list",
    "search_servers": "Only people add servers: pegboard servers add",
    "list_registries": "Only people add servers: pegboard servers add",
    "set_profile": "Your token decides which tools you have.",
}
"""Of mcpproxy, where none of ours is listed that does the same: what to do instead."""

_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "args": ("arguments", "input"),
    "args_json": ("arguments", "input"),
    "tool_args": ("arguments", "input"),
    "name": ("tool", "names", "toolset"),
    "tool": ("name", "names"),
    **dict.fromkeys(("tool_name", "tool_id"), ("tool", "name", "names")),
    "tool_ids": ("names",),
    **dict.fromkeys(("k", "top_k", "tools_limit", "max_tables", "tool_search_max_results"), ("limit",)),
    **dict.fromkeys(("q", "queries", "relevant_to"), ("query",)),
    "query": ("sql",),
    "source_id": ("source",),
    "script": ("code",),
    **dict.fromkeys(("debug", "explain_tool"), ("explain",)),
    **dict.fromkeys(
        ("enabled_builtins", "always_on_builtin_tools", "allowed_builtins"),
        ("builtins", "allow_builtins", "filter.allow_builtins"),
    ),
    "allowed_servers": ("allow_servers", "filter.allow_servers"),
    "allowed_tools": ("allow_tools", "filter.allow_tools"),
    "disabled_builtins": ("deny_builtins", "filter.deny_builtins"),
    **dict.fromkeys(("tool_call_formats", "enabled_formats", "primary_format", "primary"), ("format",)),
    "system_prompt": ("base",),
}
"""Arguments of tools, parameters and members of requests: of several of ours, the first that the place has."""

_NOTES: Final[Mapping[tuple[str, str], str]] = {
    **{("args_json", ours): " It is an object and no text." for ours in ("arguments", "input")},
    **{(name, "names"): " It is a list." for name in ("name", "tool", "tool_name", "tool_id")},
}

_ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "retrieve_tools": {
        "include_stats": "Did you mean 'explain'? Statistics are in: pegboard activity",
        "include_session_risk_warning": "Leave it out: there is nothing like it here.",
    },
    "describe_tool": {"check": "Leave it out: the answer tells what is locked."},
    "upstream_servers": {"operation": "Leave it out: every server is listed. Only people change servers."},
    "call_tool": {"intent_data_sensitivity": "Leave it out.", "intent_reason": "Leave it out."},
    SCHEMAS: {"max_columns_per_table": "Leave it out.", "min_relevance": "Leave it out."},
    PYTHON: {"language": "Leave it out: programs are Python."},
}
"""Of built-in tools, where more is to be said than our name."""

CHAT_MEMBERS: Final[Mapping[str, str]] = dict.fromkeys(
    ("tool_call_formats", "formats", "format", "primary"),
    "It is set in pegboard.yaml: 'prompts.formats' and 'prompts.primary'.",
)
"""Of `pegboard` in a chat request, where a request has nothing like it."""

PARAMETERS: Final[Mapping[str, Mapping[str, str]]] = {
    "show_search": dict.fromkeys(
        ("q", "query"), "This route tells the state of the search. Find tools with: GET /api/v1/tools/search?query=TEXT"
    )
}
"""Of routes of the REST API, by operation: parameters that belong to another route."""

PATHS: Final[Mapping[str, str]] = {"/mcp/call": "/mcp/search", "/mcp/all": "/mcp/direct", "/v1/tool_code": "/mcp"}
"""Of the endpoint."""

PLUGABLE_SETTINGS: Final[Mapping[str, str]] = {
    "tool_call_formats": "Did you mean 'prompts.formats' and 'prompts.primary'?",
    "enabled_builtins": "Did you mean 'prompts.builtins'?",
    "always_on_builtin_tools": "Did you mean 'prompts.builtins'?",
    "system_prompt": "Did you mean 'prompts.base'?",
    "mcp_servers": "Did you mean 'servers'?",
    "database_toolbox": "Did you mean 'databases'?",
    "tool_search_max_results": "The size of a model decides how many tools it is shown: see 'models'.",
}
"""Keys of the whole file, and what is meant by them."""

MCPPROXY_SETTINGS: Final[Mapping[str, str]] = {
    "listen": "Start it there: pegboard serve --host 127.0.0.1 --port 8080",
    "data_dir": "Start it so: pegboard serve --data-dir DIRECTORY",
    "profiles": "Did you mean 'principals'?",
    "routing_mode": "Did you mean 'presentation'?",
    "tool_response_mode": "A caller says it for itself: detail of retrieve_tools.",
    **dict.fromkeys(("tools_limit", "top_k"), "A caller says it for itself: limit of retrieve_tools."),
    **dict.fromkeys(("tool_response_limit", "max_result_size_chars"), "Did you mean 'prompts.result_limit'?"),
    "call_tool_timeout": "Did you mean 'timeouts.call' of a server?",
    "init_timeout": "Did you mean 'timeouts.start' of a server?",
    "quarantine_enabled": "Did you mean 'trust' of a server?",
    "api_key": "Make a token: pegboard tokens make NAME --scope admin",
    "require_mcp_auth": "Tokens are required as soon as there is one: pegboard tokens make NAME --scope call",
    "trusted_hosts": "Did you mean 'gateway.allowed_hosts'?",
    "docker_isolation": "Did you mean 'containers'?",
    "docker_recovery": "Leave it out: servers that end are started again.",
    "environment": "Did you mean 'env' of a server?",
    "instructions": "Did you mean 'prompts.base'? Models in a chat are told it; MCP clients are not.",
    "registries": "Leave it out: servers are added with pegboard servers add, or with pegboard import.",
    "telemetry": "Leave it out: nothing is reported to anybody.",
    "enable_code_execution": "Did you mean 'code.listed', or 'presentation: code'?",
    "code_execution_timeout_ms": "Did you mean 'code.limits.time'?",
    "code_execution_max_tool_calls": "Did you mean 'code.limits.calls'?",
    "code_execution_pool_size": "Did you mean 'code.max_runs'?",
    "activity_retention_days": "Did you mean 'audit.keep_days'?",
    "activity_max_records": "Did you mean 'audit.keep_rows'?",
    **dict.fromkeys(
        ("disable_management", "read_only_mode", "allow_server_add", "allow_server_remove"),
        "Leave it out: no agent can add or change servers here.",
    ),
    "aggregate_upstream_prompts": "Leave it out: prompts of servers are passed on.",
}

MCPPROXY_SERVER: Final[Mapping[str, str]] = {
    "working_dir": "Did you mean 'cwd'?",
    "trust_mode": "Did you mean 'trust'? auto is open, scan is baseline, manual is strict.",
    "skip_quarantine": "Did you mean 'trust: open'?",
    "auto_approve_tool_changes": "Did you mean 'trust: open'?",
    "quarantined": "Did you mean 'trust: strict', or 'enabled: false'?",
    "init_timeout": "Did you mean 'timeouts.start'?",
    "isolation": "Tools that run in a container are declared in a toolset.yaml.",
}
"""Keys of one server."""


TRANSPORTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("http", "streamable-http"), "Did you mean transport: http?"),
    "sse": "Did you mean transport: sse?",
    "stdio": "A server with a command needs no word for it.",
    "auto": "Did you mean latest?",
}
"""What mcpproxy writes as `protocol` of a server."""


def fold_spelling(name: str) -> str:
    """What names have in common that differ in case, underscores, dashes or spaces alone."""
    return re.sub(r"[_\-\s]", "", name).casefold()


def same_but_spelling(name: str, known: Iterable[str]) -> str | None:
    return next((each for each in known if fold_spelling(each) == fold_spelling(name)), None)


def near_words(word: str, words: Mapping[str, object]) -> tuple[str, ...]:
    """Of words for values, those that this one may be a misspelling of: each by the first word for its value."""
    first: dict[object, str] = {}
    for each, value in words.items():
        first.setdefault(value, each)
    spelt = same_but_spelling(word, words)
    near = (spelt,) if spelt is not None else misspellings(word, words) or closest_names(word, words)
    return tuple(dict.fromkeys(first[words[each]] for each in near))


def member_hint(name: str, known: Iterable[str]) -> str | None:
    """For a name that a place does not have: ours among those that it has, by spelling or by another program."""
    known = tuple(known)
    ours = same_but_spelling(name, known) or next((each for each in _MEMBERS.get(name, ()) if each in known), None)
    if ours is None:
        return None
    return f"Did you mean {ours!r}?{_NOTES.get((name, ours), '')}"


def near_member_hint(name: str, known: Iterable[str]) -> str | None:
    """The same, or else for the nearest of those that the place has."""
    known = tuple(known)
    if (hint := member_hint(name, known)) is not None:
        return hint
    near = closest_names(name, known)
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else None


def argument_hints(tool: str, sent: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """For arguments of a built-in tool that it has not, each as a line of what is wrong."""
    advice, own = _ARGUMENTS.get(tool, {}), {*known}
    return tuple(
        f"{name}: {hint}"
        for name in sent
        if name not in own and (hint := advice.get(name) or member_hint(name, own)) is not None
    )


def near_tools(name: str, known: Collection[str]) -> tuple[tuple[str, ...], str]:
    """For a tool that is none of those known: the names that may be meant, and what else there is to say."""
    if TOOLS.get(name) in known:
        return (TOOLS[name],), ""
    return ((), ABSENT_TOOLS[name]) if name in ABSENT_TOOLS else (closest_names(name, known), "")
