"""Names of Plugable and mcpproxy for what Pegboard has under another name: for a hint where one of them is unknown."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from .prompting import CODE_MODE, FAMILY, NATIVE, PYTHON, SCHEMAS, SEARCH, SQL, TEXT_FORMATS

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

_ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "retrieve_tools": {
        "include_stats": "Did you mean 'explain'? Statistics are in: pegboard activity",
        "debug": "Did you mean 'explain'?",
        "explain_tool": "Did you mean 'explain'?",
        "include_session_risk_warning": "Leave it out: there is nothing like it here.",
        "top_k": "Did you mean 'limit'?",
    },
    "describe_tool": {"tool_ids": "Did you mean 'names'?", "check": "Leave it out: the answer tells what is locked."},
    "upstream_servers": {"operation": "Leave it out: every server is listed. Only people change servers."},
    "call_tool": {
        "args": "Did you mean 'arguments'?",
        "args_json": "Did you mean 'arguments'? It is an object and no text.",
        "intent_data_sensitivity": "Leave it out.",
        "intent_reason": "Leave it out.",
    },
    SEARCH: {
        "queries": "Did you mean 'query'?",
        "relevant_to": "Did you mean 'query'?",
        "top_k": "Did you mean 'limit'?",
    },
    SCHEMAS: {
        "max_tables": "Did you mean 'limit'?",
        "max_columns_per_table": "Leave it out.",
        "min_relevance": "Leave it out.",
        "source_id": "Did you mean 'source'?",
    },
    SQL: {"source_id": "Did you mean 'source'?", "query": "Did you mean 'sql'?"},
    PYTHON: {"script": "Did you mean 'code'?", "language": "Leave it out: programs are Python."},
}

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
    "tools_limit": "A caller says it for itself: limit of retrieve_tools.",
    "tool_response_limit": "Did you mean 'prompts.result_limit'?",
    "call_tool_timeout": "Did you mean 'timeouts.call' of a server?",
    "init_timeout": "Did you mean 'timeouts.start' of a server?",
    "quarantine_enabled": "Did you mean 'trust' of a server?",
    "api_key": "Make a token: pegboard tokens make NAME --scope admin",
    "require_mcp_auth": "Tokens are required as soon as there is one: pegboard tokens make NAME --scope call",
    "trusted_hosts": "Did you mean 'gateway.allowed_hosts'?",
    "docker_isolation": "Did you mean 'containers'?",
    "enable_code_execution": "Did you mean 'code.listed', or 'presentation: code'?",
    "code_execution_timeout_ms": "Did you mean 'code.limits.wall'?",
    "code_execution_max_tool_calls": "Did you mean 'code.limits.calls'?",
    "code_execution_pool_size": "Did you mean 'code.runs'?",
    "activity_retention_days": "Did you mean 'audit.keep_days'?",
    "activity_max_records": "Did you mean 'audit.keep_rows'?",
    "disable_management": "Leave it out: no agent can add or change servers here.",
    "read_only_mode": "Leave it out: no agent can add or change servers here.",
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


def folded(name: str) -> str:
    """What names have in common that differ in case, underscores, dashes or spaces alone."""
    return re.sub(r"[_\-\s]", "", name).casefold()


def same_but_spelling(name: str, known: Iterable[str]) -> str | None:
    return next((each for each in known if folded(each) == folded(name)), None)


def argument_hints(tool: str, sent: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """For arguments of a built-in tool that it has not, each as a line of what is wrong."""
    meant, own = _ARGUMENTS.get(tool, {}), {*known}
    return tuple(
        f"{name}: {hint}" for name in sent if name not in own and (hint := _hint(name, meant, own)) is not None
    )


def _hint(name: str, meant: Mapping[str, str], own: Iterable[str]) -> str | None:
    if name in meant:
        # The meta tools have another name for it.
        return meant[name] if "input" not in own else meant[name].replace("'arguments'", "'input'")
    spelt = same_but_spelling(name, own)
    return None if spelt is None else f"Did you mean {spelt!r}?"
