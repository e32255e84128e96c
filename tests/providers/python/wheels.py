"""Tiny packages for the tests of environments: made here, so that no test needs a network."""

import base64
import hashlib
from pathlib import Path
from zipfile import ZipFile


def wheel(folder: Path, name: str, version: str, code: str, *, needs: str | None = None) -> Path:
    """A wheel of one module."""
    folder.mkdir(parents=True, exist_ok=True)
    requires = "" if needs is None else f"Requires-Dist: {needs}\n"
    stem = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{stem}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
        f"{stem}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}/entry_points.txt": f"[console_scripts]\n{name}-says = {name}:main\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in files.items())
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with ZipFile(made, "w") as archive:
        for path, text in {**files, f"{stem}/RECORD": f"{record}{stem}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return made


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
