"""The example whose tools run in containers says what it means; tests/e2e/test_containers.py runs it."""

import re
import shlex
from pathlib import Path

from pegboard.config.manifest import Commands, Labelled, Manifest, SpeaksMcp, read_label, read_manifest

EXAMPLE = Path(__file__).parents[2] / "examples" / "words"


def test_its_manifest_has_a_container_of_each_kind() -> None:
    manifest = read_manifest((EXAMPLE / "toolset.yaml").read_bytes(), "toolset.yaml", EXAMPLE)
    assert isinstance(manifest, Manifest), str(manifest)
    assert manifest.warnings == ()
    assert {each.id: type(each.offers) for each in manifest.containers} == {
        "count": Labelled,
        "shout": Commands,
        "dictionary": SpeaksMcp,
    }
    assert not any(each.image.network for each in manifest.containers)


def test_its_image_tells_of_its_tools_in_its_label() -> None:
    built = (EXAMPLE / "Containerfile").read_text("utf-8")
    (label,) = re.findall(r"^LABEL (.+)$", built, re.MULTILINE)
    name, _, text = shlex.split(label)[0].partition("=")
    tools = read_label(text, "localhost/pegboard-words:1")
    assert isinstance(tools, tuple), str(tools)
    assert (name, [(tool.id, tool.command) for tool in tools]) == (
        "io.pegboard.tools",
        [("count", ("/tools/count.sh",))],
    )
    copied = re.findall(r"[a-z]+\.sh", built.partition("COPY")[2].partition("\n")[0])
    assert copied == ["count.sh", "dictionary.sh"]
    assert all((EXAMPLE / name).is_file() for name in copied)
