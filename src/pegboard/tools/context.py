"""`ToolContext`: the workspace, progress, log, secrets and cancellation of a running tool."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class ToolListener(Protocol):
    """Whoever hears what a running tool says."""

    def progress(self, done: float, total: float | None, words: str | None) -> None: ...

    def log(self, level: str, message: str) -> None: ...

    @property
    def is_cancelled(self) -> bool: ...


class ToolCancelledError(Exception):
    """Nobody waits for the result any more."""


class _NoListener:
    is_cancelled = False

    def progress(self, done: float, total: float | None, words: str | None) -> None:
        """Nobody listens."""

    def log(self, level: str, message: str) -> None:
        """Nobody listens."""


class Secrets(Mapping[str, str]):
    """By name, and never shown: not by printing them, nor in the text of an error."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._known = dict(known or {})

    def __getitem__(self, name: str) -> str:
        try:
            return self._known[name]
        except KeyError:
            raise KeyError(
                f"The secret {name!r} is not set. Name it under `secrets` in toolset.yaml, and set it for this toolset."
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._known))})"


@dataclass(frozen=True)
class ToolContext:
    """A tool gets it by a parameter of this type, which no model sees."""

    toolset: str = ""
    workspace: Path | None = None
    """A folder for the tool's own files; none unless the manifest asks for one."""
    secrets: Secrets = field(default_factory=Secrets)
    _listener: ToolListener = field(default_factory=_NoListener, repr=False)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell whoever waits how far the work has come."""
        self._listener.progress(done, total, message)

    def log(self, message: str, level: str = "info") -> None:
        self._listener.log(level, message)

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more."""
        return self._listener.is_cancelled

    def stop_if_cancelled(self) -> None:
        """For long loops of functions that are not async, which nobody can interrupt from outside."""
        if self.cancelled:
            raise ToolCancelledError
