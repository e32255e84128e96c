"""A folder on disk, such as a checkout, is brought in by the same rules as an archive."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.config.bundle.packing import MANIFEST
from tests.support.toolsets import zipped

from pegboard.config.bundle.archive import BundleLimits
from pegboard.config.bundle.staging_folder import BadBundleError, inspect_in_place, stage_archive, stage_folder


def laid_out(folder: Path, **files: str) -> Path:
    for name, content in {"toolset.yaml": MANIFEST, **files}.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return folder


def refused(folder: Path, beside: Path, limits: BundleLimits | None = None) -> list[str]:
    with pytest.raises(BadBundleError) as error, stage_folder(folder, beside, limits):
        pass
    assert not beside.exists() or list(beside.iterdir()) == []
    return [str(problem) for problem in error.value.problems]


@pytest.mark.behaviour("bundle.staged")
def test_a_checkout_comes_in_without_what_belongs_to_its_author(tmp_path: Path) -> None:
    extra = {
        "lib/x.py": "x",
        ".git/config": "secret",
        "lib/__pycache__/x.pyc": "x",
        ".venv/bin/python": "x",
    }
    source = laid_out(tmp_path / "mine", **extra)
    with stage_folder(source, tmp_path / "in") as staged:
        assert staged.files == ("lib/x.py", "toolset.yaml")
        assert (staged.folder / "lib/x.py").read_text() == "x"
    assert (source / "lib/x.py").read_text() == "x"


@pytest.mark.behaviour("bundle.only_files")
def test_links_and_pipes_are_refused_by_their_names(tmp_path: Path) -> None:
    source = laid_out(tmp_path / "mine")
    (source / "outside").symlink_to("/etc")
    (source / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(source / "pipe")
    link = "it is a symbolic link. Put a copy of what it means in its place."
    assert refused(source, tmp_path / "in") == [
        f"mine: outside: {link}",
        f"mine: passwd: {link}",
        "mine: pipe: it is no file. Remove it.",
    ]


@pytest.mark.behaviour("bundle.bounded")
def test_a_folder_has_the_bounds_of_an_archive(tmp_path: Path) -> None:
    source = laid_out(tmp_path / "mine", a="x" * 3000, b="y" * 3000)
    assert refused(source, tmp_path / "in", BundleLimits(max_files=2)) == ["mine: it holds more than 2 files."]
    assert refused(source, tmp_path / "in", BundleLimits(max_file_bytes=100, max_total_bytes=4000)) == [
        "mine: a: it takes 3,000 bytes, and 0 MiB are the most.",
        "mine: b: it takes 3,000 bytes, and 0 MiB are the most.",
        f"mine: it takes {6000 + len(MANIFEST):,} bytes, and 0 MiB are the most.",
    ]


@pytest.mark.behaviour("bundle.unsafe_names")
def test_names_that_not_every_system_takes_are_refused_here_too(tmp_path: Path) -> None:
    source = laid_out(tmp_path / "mine", **{"aux.py": "", "A": "", "a": ""})
    assert refused(source, tmp_path / "in") == [
        "mine: aux.py: 'aux.py' is a device on Windows. Rename it.",
        "mine: a: on some systems it is the same file as 'A'.",
    ]


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n"
PRIVATE = {
    **dict.fromkeys((".env", ".env.local", "conf/prod.env", ".npmrc", "a/.netrc", "id_ed25519", ".aws/config"), "k"),
    **dict.fromkeys(("keys/server.pem", "server.key"), KEY),
    "store.p12": "k",
}
PUBLIC = {
    ".env.example": "KEY=",
    "ca.pem": "-----BEGIN CERTIFICATE-----",
    "id_rsa.pub": "ssh-rsa",
    "environment.py": "x",
}


@pytest.mark.behaviour("bundle.private_files")
@pytest.mark.parametrize("how", ["folder", "archive", "in place"])
def test_files_that_usually_hold_secrets_are_left_out_and_told(tmp_path: Path, how: str) -> None:
    source = laid_out(tmp_path / "mine", **PRIVATE, **PUBLIC)
    with ExitStack() as stack:
        match how:
            case "folder":
                staged = stack.enter_context(stage_folder(source, tmp_path / "in"))
            case "archive":
                staged = stack.enter_context(stage_archive(zipped(source), tmp_path / "in"))
            case _:
                staged = inspect_in_place(source)
        assert staged.withheld_files == tuple(sorted(PRIVATE))
        assert staged.files == tuple(sorted([*PUBLIC, "toolset.yaml"]))
        if how != "in place":
            there = [path.relative_to(staged.folder).as_posix() for path in staged.folder.rglob("*") if path.is_file()]
            assert sorted(there) == [*staged.files]
