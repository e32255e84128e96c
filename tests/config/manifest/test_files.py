"""A manifest held against the files of its toolset."""

import pytest
from tests.config.manifest.reading import manifest

from pegboard.config.manifest.reader import check_files

TEXT = """
id: a
tools:
  - {id: one, entrypoint: "tools.weather:forecast"}
  - {id: two, entrypoint: "package:run", renderer: {type: html, artifact: artifacts/chart.html}}
mcp_servers:
  - {id: own, command: ./bin/serve, cwd: data}
  - {id: found, command: npx, cwd: "${SOMEWHERE}"}
  - {id: away, command: /usr/bin/serve}
  - {id: web, url: "https://example.org"}
tool_overrides:
  - {tool_id: one, renderer: html, renderer_config: {artifact: "$args.page"}}
  - {tool_id: "own:*", renderer: html, renderer_config: {artifact: ./artifacts/page.html}}
"""
FILES = (
    "toolset.yaml",
    "tools/weather.py",
    "package/__init__.py",
    "artifacts/chart.html",
    "artifacts/page.html",
    "bin/serve",
    "data/x",
)


@pytest.mark.behaviour("toolsets.manifest_files")
def test_a_manifest_whose_files_are_all_there_has_no_problem() -> None:
    assert check_files(manifest(TEXT), FILES) == ()


@pytest.mark.behaviour("toolsets.manifest_files")
def test_files_that_are_missing_are_told_with_the_nearest_there_is() -> None:
    there = ("toolset.yaml", "tools/wether.py", "src/package.py", "chart.html", "bin/server")
    assert [str(problem) for problem in check_files(manifest(TEXT), there)] == [
        "toolset.yaml:4: tools[0].entrypoint: there is no file 'tools/weather.py' in the toolset. "
        "Did you mean 'tools.wether'?",
        "toolset.yaml:5: tools[1].entrypoint: there is no file 'package.py' in the toolset. "
        "Did you mean 'src.package'?",
        "toolset.yaml:5: artifact: there is no file 'artifacts/chart.html' in the toolset for the renderer of a:two. "
        "Did you mean 'chart.html'?",
        "toolset.yaml:7: mcp_servers[0].command: there is no file 'bin/serve' in the toolset. "
        "Did you mean 'bin/server'?",
        "toolset.yaml:7: mcp_servers[0].cwd: there is no folder 'data' in the toolset. Add it, or correct the path.",
        "toolset.yaml:13: artifact: there is no file 'artifacts/page.html' in the toolset for the renderer of a~own:*. "
        "Add it, or correct the path.",
    ]


@pytest.mark.behaviour("overrides.html_artifact_is_the_toolsets_own")
def test_a_page_that_is_no_html_file_is_a_problem() -> None:
    text = 'id: a\ntools:\n  - {id: one, entrypoint: "one:one", renderer: {type: html, artifact: toolset.yaml}}\n'
    assert [str(problem) for problem in check_files(manifest(text), ("toolset.yaml", "one.py"))] == [
        "toolset.yaml:3: artifact: 'toolset.yaml' is no page for the renderer of a:one. Name an .html or .htm file."
    ]
