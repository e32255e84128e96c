"""What the OpenAPI document says of errors: every one is a problem document in the same words as everywhere."""

from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from .shapes import ActionInfo


class UnlistedProviderInfo(TypedDict):
    """A server or toolset of which nobody knows what it has: what was named may be a tool of it."""

    id: str
    sentence: str
    action: ActionInfo


class ProblemDetails(TypedDict):
    """RFC 9457. `detail` says what was wrong, where, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    errors: NotRequired[list[str]]
    """Each by itself, where several things were wrong."""
    offered: NotRequired[list[str]]
    """What could have been named instead."""
    tools: NotRequired[list[str]]
    """The tools that a name may mean, where it names several or none: those that have it, or are called nearly so."""
    unheard: NotRequired[list[UnlistedProviderInfo]]
    """Of a tool that nobody has: who has not listed its tools, why, and the one act that would change that."""
    missing: NotRequired[list[str]]
    """The scopes that it takes and the token lacks."""
    scopes: NotRequired[list[str]]
    """Those that the token has."""
    policyVersion: NotRequired[int]
    """What the policy is at, where a decision was based on an older one."""


_PROBLEM_CONTENT: Final[dict[str, Any]] = {
    "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
}

PROBLEM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"description": "What was asked cannot be done; the problem says why.", "content": _PROBLEM_CONTENT},
    "5XX": {"description": "The gateway or its store failed; the problem says how.", "content": _PROBLEM_CONTENT},
}
