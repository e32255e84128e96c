"""What attacks are after: a file with a secret, a folder to write to, a port, a variable and a value of the host.

Each is made anew for a run, so that whatever of it turns up elsewhere was taken.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

FOLDER = Path("/tmp/codemode/canary")
PORT = 47_111


class NoWorldError(Exception):
    """Why it cannot be made here."""


@dataclass
class World:
    folder: Path
    port: int
    secret: str = field(default_factory=lambda: f"file-canary-{token_hex(8)}")
    variable: str = field(default_factory=lambda: f"env-canary-{token_hex(8)}")
    value: str = field(default_factory=lambda: f"HOSTSECRET{token_hex(4)}")
    connections: int = 0

    @property
    def writable(self) -> Path:
        return self.folder / "w"

    def fitted(self, code: str) -> str:
        """The attack as it reaches this world rather than the recorded one."""
        return code.replace(str(FOLDER), str(self.folder)).replace(str(PORT), str(self.port))

    def written(self) -> dict[str, str]:
        """Files that were made, and what is in each; the secret too when it was changed."""
        found = {path.name: _text(path) for path in sorted(self.writable.iterdir())}
        if _text(self.folder / "secret.txt") != self.secret:
            found["secret.txt"] = "changed"
        return found

    def clear(self) -> None:
        for path in self.writable.iterdir():
            path.unlink()
        (self.folder / "secret.txt").write_text(self.secret)


@contextmanager
def world(folder: Path = FOLDER, port: int = PORT) -> Iterator[World]:
    """Raises `NoWorldError`."""
    try:
        (folder / "w").mkdir(parents=True, exist_ok=True)
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise NoWorldError(f"{folder} and port {port} are what the attacks look for: {error}") from error
    made = World(folder, listener.getsockname()[1])
    made.clear()
    for path, mode in ((folder, 0o755), (made.writable, 0o777), (folder / "secret.txt", 0o644)):
        path.chmod(mode)
    listening = threading.Thread(target=_answer, args=(listener, made), daemon=True)
    listening.start()
    try:
        yield made
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        listening.join(5)
        made.clear()


def _answer(listener: socket.socket, made: World) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        made.connections += 1
        with connection, suppress(OSError):
            connection.settimeout(1)
            connection.recv(1_024)
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[:4_096]
    except OSError:
        return ""
