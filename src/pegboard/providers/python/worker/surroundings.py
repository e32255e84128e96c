"""Where the tools of this worker run: one toolset's process, so it is the same for each of its calls and threads.

For what has no parameter to get a context by; a function of ours asks for its `ToolContext`.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STAND_INS: Final = Path(__file__).parent / "stand_ins"


@dataclass(frozen=True)
class WorkerSurroundings:
    toolset: str
    workspace: Path
    """Where it is, or would be: a manifest need not have asked for one."""

    def ensure_workspace(self) -> Path:
        # One by one: with `parents`, those above it would have the mode that the umask leaves.
        for folder in (*reversed(self.workspace.parents), self.workspace):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
        return self.workspace


_current: list[WorkerSurroundings] = []


def current_surroundings() -> WorkerSurroundings | None:
    """Nothing before the first call can come."""
    return _current[-1] if _current else None


def set_surroundings(surroundings: WorkerSurroundings) -> None:
    _current[:] = [surroundings]


def add_stand_in_path() -> None:
    """Modules that toolsets of other programs import, behind everything that a toolset brings itself."""
    sys.path.append(str(_STAND_INS))
