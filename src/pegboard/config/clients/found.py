"""What was found of one client's server list."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pegboard.config.problem import FileProblem
from pegboard.core.server import Server


class ClientApp(Enum):
    """The value is the name people know it by."""

    CLAUDE_DESKTOP = "Claude Desktop"
    CLAUDE_CODE = "Claude Code"
    CURSOR = "Cursor"
    VS_CODE = "VS Code"
    WINDSURF = "Windsurf"
    UNKNOWN = "another client"

    @property
    def suffix(self) -> str:
        """What tells its servers from others of the same id."""
        return "imported" if self is ClientApp.UNKNOWN else self.value.lower().replace(" ", "-")

    @property
    def expands_plain_names(self) -> bool:
        """Whether `${NAME}` is replaced by the client. The others hand it to the server as it is."""
        return self in (ClientApp.CLAUDE_CODE, ClientApp.UNKNOWN)

    @property
    def knows_folders(self) -> bool:
        """Whether `${workspaceFolder}` and its like are replaced by the client."""
        return self in (ClientApp.CURSOR, ClientApp.VS_CODE, ClientApp.UNKNOWN)


@dataclass(frozen=True)
class ClientServerList:
    """One list. A server's origin says where in the file it stands; problems say what was left out or changed."""

    client: ClientApp
    path: Path
    servers: tuple[Server, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    keys: tuple[str, ...] = ()
    """Of each server, in their order: a problem at or below this key is about it."""
