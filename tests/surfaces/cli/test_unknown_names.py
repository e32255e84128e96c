"""Unknown names in pegboard.yaml, from the start of a gateway to the lists of a second terminal."""

from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard, peer, serving

CONFIG_ERROR = 3


def written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


@pytest.mark.behaviour("config.selected_toolsets_exist", "selection.unknown_toolset_is_error")
def test_a_gateway_does_not_start_with_an_unknown_toolset_unless_it_was_removed_since(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = home / "data"
    monkeypatch.setenv("PEGBOARD_DATA_DIR", str(data))
    config = written(home / "pegboard.yaml", "selection:\n  toolsets: [two]\n")
    refused = pegboard("serve", "--port", "0")
    assert refused.code == CONFIG_ERROR
    assert refused.err.endswith(
        f"the configuration cannot be used.\n{config}:2: selection.toolsets[0]: unknown toolset 'two'. Correct it, "
        "install the toolset first (pegboard servers add NAME --toolset two), or mark the entry as optional.\n"
    )
    # Other commands go on, so that it can be installed.
    assert pegboard("servers", "add", "two", "--", "true").code == 0
    with serving(home, config, data):
        assert pegboard("servers", "remove", "two").code == 0
    with serving(home, config, data):
        shown = pegboard("tools", "list")
    assert "Unknown toolset 'two' in selection.toolsets" in shown.err
    config.write_text("# edited\nselection:\n  toolsets: [two]\n")
    assert pegboard("serve", "--port", "0").code == CONFIG_ERROR


@pytest.mark.behaviour("names.unknown_is_shown", "names.denial_fails_closed")
def test_a_misspelled_denial_is_shown_by_every_command_and_its_tool_is_locked(pegboard: Pegboard, home: Path) -> None:
    config = home / "pegboard.yaml"
    server = peer("many", "2", trust="open", disabled_tools=["tool_0000l"])
    config.write_text(f"servers: {{one: {server}}}\n".replace("True", "true"))
    listed = pegboard("tools", "list")
    entry = f"Unknown tool 'tool_0000l' in servers.one.disabled_tools ({config}:1). Did you mean"
    assert f"! {entry} 'tool_00000' or 'tool_00001'?" in listed.err
    assert [line.split()[-1] for line in listed.out.splitlines()[1:3]] == ["disabled_unknown"] * 2
    why = pegboard("why", "tool_0000l")
    assert (why.code, entry in why.err) == (4, True)
    assert f"  ! {entry}" in pegboard("why", "tool_00001").out
