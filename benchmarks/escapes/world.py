"""What attacks are after: a file with a secret, a folder to write to, a port, a variable and a value of the host.

Each is made anew for a run, so that whatever of it turns up elsewhere was taken.
"""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from secrets import token_hex

FOLDER = Path("/tmp/codemode/canary")
PORT = 47_111
MOST_ENTRIES = 1_000
"""How many of what an attack made are looked at."""


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
        """What was made, and what is in each; the secret and the folder to write to as well when they were changed."""
        found = _inside(self.folder)
        if found.pop("secret.txt", None) != self.secret:
            found["secret.txt"] = "changed"
        if self.writable.is_symlink() or not self.writable.is_dir():
            return {**found, "w": "changed"}
        found.pop("w", None)
        return found | {f"w/{name}": content for name, content in _inside(self.writable).items()}

    def clear(self) -> None:
        """As it was before any attack, which may have put anything in its place. Raises `NoWorldError`."""
        try:
            if self.folder.is_symlink() or not self.folder.is_dir():
                _remove(self.folder)
                self.folder.mkdir(parents=True)
            self.folder.chmod(0o755)
            for path in self.folder.iterdir():
                _remove(path)
            self.writable.mkdir()
            self.writable.chmod(0o777)
            with (self.folder / "secret.txt").open("x") as file:
                file.write(self.secret)
            (self.folder / "secret.txt").chmod(0o644)
        except OSError as error:
            raise NoWorldError(f"{self.folder} is what the attacks look for, and cannot be made: {error}") from error


@contextmanager
def world(folder: Path = FOLDER, port: int = PORT) -> Iterator[World]:
    """Raises `NoWorldError`."""
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise NoWorldError(f"Port {port} is what the attacks look for: {error}") from error
    made = World(folder, listener.getsockname()[1])
    try:
        made.clear()
    except NoWorldError:
        listener.close()
        raise
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


def _inside(folder: Path) -> dict[str, str]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: _content(entry) for entry in islice(entries, MOST_ENTRIES)}
    except OSError as error:
        return {folder.name: f"cannot be read: {error}"}


def _content(entry: "os.DirEntry[str]") -> str:
    """Of a file the beginning. A link is not followed, nor does anything wait for whoever writes into a pipe."""
    try:
        if entry.is_symlink():
            return f"a link to {os.readlink(entry)}"
        if entry.is_dir(follow_symlinks=False):
            return "a folder"
        if not entry.is_file(follow_symlinks=False):
            return "neither a file nor a folder"
        with open(os.open(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(4_096).decode(errors="replace")
    except OSError as error:
        return f"cannot be read: {error}"


def _remove(path: Path) -> None:
    """A folder with everything below, however deep, and never what a link leads to."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    subprocess.run(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL, check=False)
    if path.is_dir():
        # It may hold folders that nobody may look into, not even their owner.
        subprocess.run(["chmod", "-R", "u+rwX", "--", path], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL, check=False)
