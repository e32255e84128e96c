"""How the command line reaches a gateway: one request in, one answer out, over the network or in this process."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

Body: TypeAlias = dict[str, Any]
Params: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Options:
    """What every command takes. `None` means: not said, so the environment or the default place decides."""

    config: Path | None = None
    data_dir: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8460


@dataclass(frozen=True)
class Answer:
    status: int
    body: Body


class Api(Protocol):
    @property
    def running(self) -> bool:
        """Whether this is a gateway that was running before the command."""
        ...

    async def request(
        self, method: str, path: str, *, params: Params = (), body: Mapping[str, object] | None = None
    ) -> Answer: ...


class Launch(Protocol):
    """What only the composition root can do."""

    def serve(self, options: Options, told: Callable[[str], None], *, as_json: bool) -> int: ...

    def stdio(self, options: Options) -> int: ...

    def api(self, options: Options, *, live: bool, told: Callable[[str], None]) -> AbstractAsyncContextManager[Api]:
        """`live`: the command needs the servers up, so without a running gateway they are started for it."""
        ...

    def settings(self, options: Options) -> "SettingsReport": ...


@dataclass(frozen=True)
class SettingsReport:
    """What was found of the operator's file, before anything runs."""

    file: str | None
    data_dir: str
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


Lines: TypeAlias = AsyncIterator[str]
