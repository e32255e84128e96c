"""Archives as nobody should pack them."""

import io
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

MANIFEST = "id: mine\nname: Mine\nversion: '1'\n"


def packed(file: Path, files: Mapping[str, bytes | str], *, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """Names are written as they are, whatever they say."""
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(entry(name, compression), content)
    return file


def entry(name: str, compression: int = zipfile.ZIP_DEFLATED, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo("x")
    made.filename = made.orig_filename = name
    made.compress_type = compression
    made.external_attr = mode << 16
    return made


def with_entries(file: Path, *entries: tuple[zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("toolset.yaml", MANIFEST)
        for made, content in entries:
            archive.writestr(made, content)
    return file


def patched(file: Path, **fields: int) -> Path:
    """The last entry's flags or method changed in both places where an archive has them."""
    data = bytearray(file.read_bytes())
    local, central = data.rfind(b"PK\x03\x04"), data.rfind(b"PK\x01\x02")
    for field, value in fields.items():
        offset = {"flags": 6, "method": 8}[field]
        struct.pack_into("<H", data, local + offset, value)
        struct.pack_into("<H", data, central + offset + 2, value)
    file.write_bytes(data)
    return file


def spoiled(file: Path) -> Path:
    """One byte of the last file's content is another than its checksum says."""
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        last = archive.infolist()[-1]
    data[last.header_offset + 30 + len(last.filename) + 1] ^= 0x55
    file.write_bytes(data)
    return file


def overlapping(file: Path, copies: int) -> Path:
    """Many names for the bytes of one file, which is how a small archive grows without bound."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.bin", b"\0" * 1000)
    data = buffer.getvalue()
    start = data.rfind(b"PK\x01\x02")
    body, record, end = data[:start], data[start : data.rfind(b"PK\x05\x06")], data[data.rfind(b"PK\x05\x06") :]
    records = b"".join(record.replace(b"a.bin", b"%05d" % number) for number in range(copies))
    tail = bytearray(end)
    struct.pack_into("<HHII", tail, 8, copies, copies, len(records), len(body))
    file.write_bytes(body + records + bytes(tail))
    return file
