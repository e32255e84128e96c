"""Boards with something in each of the five states, as a person would write them down."""

import hashlib
from pathlib import Path

from tests.e2e.served import DEMO, ROOT
from tests.support.fork_server import python

Board = dict[str, object]


def server(script: Path, *args: str, **rest: object) -> Board:
    return {"command": python(), "args": [str(script), *args], **rest}


def every_state() -> Board:
    """A library that is open, a desk that waits for a person, a drawer with a lock, and a server that never starts."""
    library, desk = DEMO.parent / "library_server.py", DEMO.parent / "desk_server.py"
    return {
        "servers": {
            "library": server(library, trust="open"),
            "shared": server(library, trust="open", toolset="reading", disabled_tools=["count_books"]),
            "desk": server(desk, trust="strict", env={"DESK_DIR": "${DESK_DIR}"}),
            "drawer": server(desk, trust="open", env={"DESK_DIR": "${DESK_DIR}"}),
            "broken": server(ROOT / "tests" / "servers" / "crash_on_start.py", trust="open"),
            "attic": server(library, trust="open", enabled=False),
        },
        "deny": ["*:delete_*"],
        "principals": {
            "ci": {"token_sha256": hashlib.sha256(b"a token of the tests").hexdigest(), "toolsets": ["library"]}
        },
    }
