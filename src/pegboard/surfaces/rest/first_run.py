"""The route for whoever opens an empty board: what is there, and the ways to a first tool on it."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.config.clients import find_client_lists, merge_lists
from pegboard.core.activity import CALL
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.ports import Audit, AuditQuery

from .answers import make_router
from .settings import RuntimeInfo

_MAX_PAGES = 50
"""Of a long record that is looked through for a call; beyond them nobody is new here."""
_DEMO_PATH = ("examples", "demo", "pegboard.yaml")


class FirstRunStep(TypedDict):
    kind: Literal["import", "add", "demo"]
    title: str
    sentence: str
    command: str
    done: bool


class FirstRunResponse(TypedDict):
    """`empty` is a board without any server or toolset; `demo`, whether it is the example's."""

    empty: bool
    demo: bool
    called: bool
    """Whether anything was called yet."""
    servers: int
    openTools: int
    importable: int
    """Servers in other clients' lists that are not on the board."""
    steps: list[FirstRunStep]
    endpoint: str | None
    asks: bool
    """Whether it asks who calls, so that a client needs a token."""
    policyVersion: int


def first_run_routes(gateway: Gateway, about: RuntimeInfo) -> APIRouter:
    routes = make_router("board")
    board = gateway.board

    @routes.get("/first-run")
    async def show_first_run() -> FirstRunResponse:
        """Whether the board is empty, and the three ways to a first tool on it."""
        policy, demo = board.policy, _is_demo(board.settings_locations.file)
        importable = await anyio.to_thread.run_sync(_count_importable, frozenset(map(str, policy.servers)))
        return {
            "empty": not policy.servers and not policy.toolsets,
            "demo": demo,
            "called": await _has_calls(gateway.audit),
            "servers": len(policy.servers),
            "openTools": sum(1 for _ in board.resolution(View()).open_tools()),
            "importable": importable,
            "steps": _steps(importable, has_servers=bool(policy.servers), demo=demo),
            "endpoint": about.endpoint,
            "asks": policy.requires_tokens,
            "policyVersion": policy.version,
        }

    return routes


async def _has_calls(audit: Audit) -> bool:
    """Decisions are records as well, and no calls."""
    query = AuditQuery(kind=CALL, limit=1)
    for _ in range(_MAX_PAGES):
        told = await audit.page_before(query)
        if told.rows or told.before is None:
            return bool(told.rows)
        query = replace(query, before=told.before)
    return True


def _count_importable(there: frozenset[str]) -> int:
    found = merge_lists(find_client_lists(Path.home(), Path.cwd(), sys.platform, os.environ))
    return sum(str(server.key) not in there for server in found.servers)


def _is_demo(file: str | None) -> bool:
    """By where its file lies."""
    return file is not None and Path(file).absolute().parts[-3:] == _DEMO_PATH


def _steps(importable: int, *, has_servers: bool, demo: bool) -> list[FirstRunStep]:
    many = "1 server is" if importable == 1 else f"{importable} servers are"
    here = (
        f"{many} in the lists of other clients on this machine. You look at them before anything is added."
        if importable
        else "No list of another client on this machine names a server that is not here."
    )
    return [
        {
            "kind": "import",
            "title": "Bring over the servers of another client",
            "sentence": here,
            "command": "pegboard import",
            "done": has_servers and importable == 0 and not demo,
        },
        {
            "kind": "add",
            "title": "Add a server",
            "sentence": "Paste an address, a command or a piece of JSON, and see what it brings before it is added.",
            "command": "pegboard servers add NAME -- COMMAND ARGS…",
            "done": has_servers,
        },
        {
            "kind": "demo",
            "title": "Try the demo",
            "sentence": "A board with small servers of its own, to look at and to call.",
            "command": "make run",
            "done": demo,
        },
    ]
