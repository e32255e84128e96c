"""A tour of the API of the demo board, for examples of what the other tests do not ask: a line each into a file."""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

from tests.e2e.served import ROOT
from tests.surfaces.rest.conforming import operation_at
from tests.web.site import Site, site

BOOKS = "mcp:library~library:search_books"
LOCKED = "mcp:desk~desk:delete_note"
PROGRAM = "books = await library.search_books(query='tide')\nlen(books['books'])"
READS = "npx -y @modelcontextprotocol/server-everything"
Go = Callable[..., Any]


def main() -> None:
    with (
        Path(sys.argv[1]).open("a", encoding="utf-8") as stream,
        tempfile.TemporaryDirectory() as folder,
        site(Path(folder)) as served,
    ):

        def go(method: str, path: str, body: Any = None) -> Any:
            answer = served.ask(method, path, body)
            assert "detail" not in answer or "title" not in answer, f"{method} {path}: {answer['detail']}"
            operation = operation_at(method, f"/api/v1{path.partition('?')[0]}")
            stream.write(json.dumps({"operation": operation, "sent": body, "answer": answer}) + "\n")
            return answer

        _toolsets(go, served)
        _callers(go, served)
        _looks(go)


def _toolsets(go: Go, served: Site) -> None:
    kitchen, costs = ({"path": str(ROOT / "examples" / each)} for each in ("kitchen", "shared_costs"))
    go("POST", "/toolsets/import", kitchen)
    go("GET", "/toolsets")
    go("GET", "/toolsets/kitchen")
    go("GET", "/toolsets/kitchen/export?dryRun=true")
    go("POST", "/toolsets/kitchen/switch", {"enabled": False})
    importing = Thread(target=served.ask, args=("POST", "/toolsets/import?progress=tour", costs))
    importing.start()
    while "detail" in served.ask("GET", "/toolsets/imports/tour") and importing.is_alive():
        time.sleep(0.01)
    go("GET", "/toolsets/imports/tour")
    importing.join()
    go("PUT", "/toolsets/shared-costs/secrets/STATEMENT_KEY", {"value": "an example"})
    go("DELETE", "/toolsets/shared-costs/secrets/STATEMENT_KEY")
    go("DELETE", "/toolsets/kitchen")


def _callers(go: Go, served: Site) -> None:
    go("GET", "/session")
    go("POST", "/session", {"token": served.token})
    go("POST", "/tokens", {"principal": "alice", "name": "her laptop", "scopes": ["call"]})
    (token,) = go("GET", "/tokens")["tokens"]
    go("GET", "/principals")
    go("PUT", "/principals/alice/grants", {"toolsets": ["library"]})
    go("PUT", "/principals/alice/confirmation", {"interactive": True, "confirmation": None})
    go("DELETE", f"/tokens/{token['id']}")
    go("DELETE", "/principals/alice?reopen=true")


def _looks(go: Go) -> None:
    go("GET", "/board")
    go("GET", f"/board/tool?tool={LOCKED}")
    go("GET", f"/tools/show?tool={BOOKS}")
    go("GET", "/tools")
    go("GET", "/servers")
    go("GET", "/settings")
    go("GET", "/status")
    go("GET", "/first-run")
    go("GET", "/search")
    go("GET", "/why?tool=delete_note")
    go("POST", "/run", {"code": PROGRAM})
    go("GET", f"/tools/history?tool={BOOKS}")
    go("GET", "/activity/summary?window=900&buckets=3")
    go("POST", "/servers/read", {"text": READS})
    library = str(ROOT / "examples" / "demo" / "library_server.py")
    go("POST", "/servers/try", {"id": "shelf", "command": sys.executable, "args": [library]})
    go("POST", "/overrides/preview", {"target": BOOKS, "set": {"description_override": "Find a book."}})


if __name__ == "__main__":
    main()
