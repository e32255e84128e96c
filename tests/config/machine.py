"""A machine of files in a temporary folder, on which clients keep their lists."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from pegboard.config.clients.discover import find_client_lists
from pegboard.config.clients.placeholders import ClientServerList
from pegboard.core.model.server import Connection


@dataclass
class Machine:
    root: Path
    platform: str = "linux"
    environ: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    def write(self, place: str, content: object) -> Path:
        """`place` begins with home or project. A text is written as it is, anything else as JSON."""
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), "utf-8")
        return path

    def find(self) -> tuple[ClientServerList, ...]:
        return find_client_lists(self.home, self.project, self.platform, self.environ)

    def only(self) -> ClientServerList:
        (found,) = self.find()
        return found


def connections(found: ClientServerList) -> dict[str, Connection]:
    return {server.id: server.connection for server in found.servers}


def told(found: ClientServerList) -> list[str]:
    """Each problem by line, key and words: the file is the same for all."""
    return [f"{problem.line}: {problem.key}: {problem.message}" for problem in found.problems]
