"""The example whose tools run in containers: it says what it means, is called by a client, and is given away.

tests/e2e/test_containers.py kills the gateway under it."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.e2e.served import served
from tests.examples.boards import DEADLINE, EXAMPLES, guest, imported, statuses, there_and_back
from tests.servers import containers
from tests.servers.containers import IMAGE, Host

from pegboard.config.manifest.model import DeclaredCommands, Manifest, McpOnStdio, ToolsFromLabel
from pegboard.config.manifest.reader import read_label, read_manifest

EXAMPLE = EXAMPLES / "words"
BUILT = "localhost/pegboard-words:1"


def test_its_manifest_has_a_container_of_each_kind() -> None:
    manifest = read_manifest((EXAMPLE / "toolset.yaml").read_bytes(), "toolset.yaml", EXAMPLE)
    assert isinstance(manifest, Manifest), str(manifest)
    assert manifest.warnings == ()
    assert {each.id: type(each.offers) for each in manifest.containers} == {
        "count": ToolsFromLabel,
        "shout": DeclaredCommands,
        "dictionary": McpOnStdio,
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
        [("count", ("awk", "-f", "/tools/json.awk", "-f", "/tools/count.awk"))],
    )
    copied = re.findall(r"[a-z]+\.awk", built.partition("COPY")[2].partition("\n")[0])
    assert copied == ["json.awk", "count.awk", "dictionary.awk"]
    assert all((EXAMPLE / name).is_file() for name in copied)


@pytest.fixture(scope="module")
def podman() -> Iterator[Host]:
    """Where no container can run, its test is skipped, and in CI it fails."""
    try:
        with containers.podman() as engine:
            base = ("--build-arg", f"BASE={IMAGE}", "--isolation", "chroot")
            engine("build", *base, "--tag", BUILT, str(EXAMPLE))
            yield engine
    except containers.NoContainers as why:
        pytest.skip(f"no container can run here: {why}")


def counted(podman: Host, arguments: str) -> object:
    """What the command makes of its input, without a board around it."""
    line = ("run", "--rm", "--interactive", "--network", "none", *podman.settings.flags, "--entrypoint", "awk", BUILT)
    return json.loads(podman(*line, "-f", "/tools/json.awk", "-f", "/tools/count.awk", given=arguments.encode()))


@pytest.mark.slow
@pytest.mark.behaviour("containers.json_in_out")
def test_words_are_counted_in_whatever_json_a_text_comes(podman: Host) -> None:
    texts = ['say "no"\\n\tto\nit', "", " é 😀\u00a0x ", "back\\\\slash \x01", "word " * 2000]
    for text in texts:
        expected = {"words": len([word for word in re.split(r"[ \t\r\n]+", text) if word])}
        assert counted(podman, json.dumps({"text": text})) == expected, text
        assert counted(podman, json.dumps({"z": [1, {"text": None}], "text": text}, ensure_ascii=False)) == expected


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.timeout(2 * DEADLINE)
@pytest.mark.behaviour("toolsets.manifest_containers", "toolsets.export_round_trip", "containers.speaks_mcp")
async def test_the_example_with_containers_is_imported_called_and_given_away(podman: Host, tmp_path: Path) -> None:
    settings = podman.settings
    engine = {"engine": "podman", "flags": [*settings.flags], "global_flags": [*settings.global_flags]}
    with anyio.fail_after(DEADLINE):
        async with served(tmp_path, {"containers": engine}) as gateway:
            await imported(gateway, EXAMPLE)
            async with guest(gateway) as one:
                assert await one.answer("count", text="to be or not") == {"words": 4}
                assert await one.answer("shout", text="oh") == {"TEXT": "OH"}
                assert await statuses(gateway, "words") == {
                    "words:count": "open",
                    "words:shout": "open",
                    "mcp:words~dictionary:learn": "open",
                    "mcp:words~dictionary:known": "open",
                }
                assert await one.text("known") == ""
                for word in ("initialize", "tide", "tide"):
                    assert await one.text("learn", word=word) == "kept"
                assert (await one.call("learn", word="Tide")).is_error
                assert await one.text("known") == "initialize tide"
                assert len(one.asked) == 3
            await there_and_back(gateway, "words", EXAMPLE, tmp_path)
            assert await gateway.stop() == 0
    assert podman.left() == []
