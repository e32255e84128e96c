"""A desk with notes on it as an MCP server: tools that write, move and delete small text files in one folder.

    DESK_DIR=~/desk python desk_server.py       keeps the notes there, each as `NAME.md`
    python desk_server.py                       keeps them in a temporary folder until the server ends

No name leads out of that folder, and a note is replaced whole or not at all, even when the server is killed midway.
"""

import atexit
import os
import shutil
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

MAX_NOTES = 1_000
MAX_BYTES = 1_000_000
# A file name may have 255 bytes on most systems; the rest is for the suffix and for the temporary name beside it.
MAX_SEGMENT_BYTES = 200
SUFFIX = ".md"
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

# Written with what is left out: what counts as a letter differs between the pattern languages of schema validators.
SEGMENT = r"""[^\s./\\:*?"<>|\x00-\x1f\x7f][^/\\:*?"<>|\x00-\x1f\x7f]*"""
NoteName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=f"^{SEGMENT}(/{SEGMENT}){{0,3}}$",
        description="The note's name, for example 'shopping'; '/' sorts notes into folders, for example 'trips/rome'.",
    ),
]
NoteText = Annotated[str, Field(max_length=MAX_BYTES, description="Plain text or Markdown.")]
FolderName = Annotated[str, Field(max_length=200, description="List this folder alone, for example 'trips'.")]


class Note(BaseModel):
    name: str
    bytes: int
    changed: datetime


class Notes(BaseModel):
    notes: list[Note]


class NoteContent(Note):
    text: str


class Written(Note):
    created: bool = Field(description="False if a note of that name was there before.")


class Moved(BaseModel):
    old_name: str
    new_name: str


def chosen_folder() -> Path:
    kept = os.environ.get("DESK_DIR")
    if not kept:
        temporary = tempfile.mkdtemp(prefix="desk-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary).resolve()
    try:
        folder = Path(kept).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as refused:
        sys.exit(f"desk: cannot keep notes in DESK_DIR={kept!r}: {refused}. Set it to a folder you may write to.")
    return folder.resolve()


# Resolved once: every later check compares with the real folder, not with a link to it.
desk = chosen_folder()
# Tools run on threads, so two calls can meet on one note.
one_at_a_time = threading.Lock()


def file_of(name: str) -> Path:
    """The file of a note; a name that leads out of the desk, by dots or by a link somebody planted, is refused."""
    # One note however an accent was typed.
    normal = unicodedata.normalize("NFC", name)
    if not normal.isprintable():
        raise ToolError(f"the name {name!r} has characters that nobody can see; use letters and digits.")
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in normal.split("/")):
        raise ToolError(f"the name {name!r} is too long; use at most {MAX_SEGMENT_BYTES} bytes between slashes.")
    file = desk / f"{normal}{SUFFIX}"
    if not file.resolve().is_relative_to(desk):
        raise ToolError(f"the name {name!r} leads out of the desk; use a plain name such as 'trips/rome'.")
    return file


def existing_file_of(name: str) -> Path:
    file = file_of(name)
    if not file.is_file():
        raise ToolError(f"there is no note {name!r}. See list_notes for those there are.")
    return file


def note_of(file: Path) -> Note:
    status = file.stat()
    name = file.relative_to(desk).as_posix().removesuffix(SUFFIX)
    return Note(name=name, bytes=status.st_size, changed=datetime.fromtimestamp(status.st_mtime, UTC))


def all_files() -> list[Path]:
    return sorted(file for file in desk.rglob(f"[!.]*{SUFFIX}") if file.is_file() and not file.is_symlink())


@contextmanager
def at_the_desk() -> Iterator[None]:
    """One call at a time, and what the disk refuses is told to the caller instead of hidden as a crash."""
    with one_at_a_time:
        try:
            yield
        except OSError as refused:
            raise ToolError(
                f"the folder {str(desk)!r} refused: {refused.strerror}. Choose another name, or look at that folder."
            ) from refused


def replace(file: Path, content: bytes) -> Written:
    if len(content) > MAX_BYTES:
        raise ToolError(f"the note would have {len(content)} bytes; {MAX_BYTES} are the most. Split it into several.")
    created = not file.exists()
    if created and len(all_files()) >= MAX_NOTES:
        raise ToolError(f"the desk is full: it holds {MAX_NOTES} notes. Delete or append to one of them.")
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=".", suffix=".draft", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        os.replace(draft, file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return Written(**note_of(file).model_dump(), created=created)


def clear_empty_folders(folder: Path) -> None:
    while folder != desk and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


server = MCPServer(
    "desk",
    title="Desk",
    version="1.0.0",
    log_level="WARNING",
    instructions="Notes are small text files. write_note replaces a whole note; append_note adds to its end.",
)


def changes(*, destructive: bool, idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=False, destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False
    )


@server.tool(title="List the notes", description="Every note with its size and last change.", annotations=READS)
def list_notes(folder: FolderName = "") -> Notes:
    inside = unicodedata.normalize("NFC", folder).strip("/")
    with at_the_desk():
        notes = [note_of(file) for file in all_files()]
    return Notes(notes=[note for note in notes if not inside or note.name.startswith(f"{inside}/")])


@server.tool(title="Read a note", description="The whole text of one note.", annotations=READS)
def read_note(name: NoteName) -> NoteContent:
    with at_the_desk():
        file = existing_file_of(name)
        if file.stat().st_size > MAX_BYTES:
            raise ToolError(f"{name!r} was not written here: it has more than {MAX_BYTES} bytes. Open it elsewhere.")
        return NoteContent(**note_of(file).model_dump(), text=file.read_bytes().decode(errors="replace"))


@server.tool(
    title="Write a note",
    description="Write a note, replacing whatever it said before. To keep the old text, use append_note.",
    annotations=changes(destructive=True, idempotent=True),
)
def write_note(name: NoteName, text: NoteText) -> Written:
    with at_the_desk():
        return replace(file_of(name), text.encode())


@server.tool(
    title="Append to a note",
    description="Add a line or more to the end of a note; a note that does not exist yet is started.",
    annotations=changes(destructive=False, idempotent=False),
)
def append_note(name: NoteName, text: NoteText) -> Written:
    with at_the_desk():
        file = file_of(name)
        before = file.read_bytes() if file.exists() else b""
        between = b"\n" if before and not before.endswith(b"\n") else b""
        return replace(file, before + between + text.encode())


@server.tool(
    title="Move a note",
    description="Give a note another name or folder. It never replaces a note that is already there.",
    annotations=changes(destructive=True, idempotent=True),
)
def move_note(name: NoteName, new_name: NoteName) -> Moved:
    with at_the_desk():
        old, new = existing_file_of(name), file_of(new_name)
        if new.exists():
            raise ToolError(f"there is a note {new_name!r} already. Choose another name, or delete that one first.")
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        clear_empty_folders(old.parent)
        return Moved(old_name=name, new_name=new_name)


@server.tool(
    title="Delete a note",
    description="Throw a note away for good. There is no undo.",
    annotations=changes(destructive=True, idempotent=True),
)
def delete_note(name: NoteName) -> Note:
    with at_the_desk():
        file = existing_file_of(name)
        thrown_away = note_of(file)
        file.unlink()
        clear_empty_folders(file.parent)
        return thrown_away


if __name__ == "__main__":
    server.run("stdio")
