"""What the options of a request are read as, and what is wrong with those that cannot be read."""

import pytest

from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.selection import AllToolsets, Selection, TheseToolsets, View
from pegboard.surfaces.mcp.view import MAX_NAMES, MAX_OPTION_BYTES, MAX_PARAMETERS, BadOption, view_of, wants_meta_tools

Header = tuple[bytes, bytes]


def only(*names: str) -> TheseToolsets:
    return TheseToolsets(names)


def narrowed(**selection: object) -> View:
    return View().narrow(Selection(**selection))  # type: ignore[arg-type]  # the cases below name the fields


@pytest.mark.parametrize(
    ("headers", "query", "view"),
    [
        ([], b"", View()),
        ([(b"accept", b"*/*"), (b"x-mcp-other", b"1")], b"session=7&x=%FF", View()),
        ([], b"app=bench&token=t&mcp=1&x-mcp-=1&=1&tenant=tools&mode=enabled", View()),
        ([(b"x-mcp-toolsets", b"files")], b"", narrowed(toolsets=only("files"))),
        ([(b"x-mcp-toolsets", b" Files , FOLDERS,,files ")], b"", narrowed(toolsets=only("files", "folders"))),
        ([(b"x-mcp-toolsets", b"")], b"", narrowed(toolsets=only())),
        ([(b"x-mcp-toolsets", b" , ")], b"", narrowed(toolsets=only())),
        ([(b"x-mcp-toolsets", b"files,all")], b"", narrowed(toolsets=AllToolsets())),
        ([(b"x-mcp-enabled-tools", b"add, mcp:a~b:Read:It")], b"", narrowed(enabled=("add", "mcp:a~b:Read:It"))),
        ([(b"x-mcp-disabled-tools", b"*:delete_*")], b"", narrowed(disabled=("*:delete_*",))),
        ([(b"x-mcp-enabled-tools", b""), (b"x-mcp-disabled-tools", b" ")], b"", narrowed()),
        ([(b"x-mcp-enabled-tools", "naïve,读".encode())], b"", narrowed(enabled=("naïve", "读"))),
        (
            [],
            b"toolsets=files&enabled_tools=a,b&disabled_tools=c",
            narrowed(toolsets=only("files"), enabled=("a", "b"), disabled=("c",)),
        ),
        ([], b"toolsets=", narrowed(toolsets=only())),
        ([], b"enabled_tools=na%C3%AFve%2Cb+c", narrowed(enabled=("naïve", "b c"))),
        ([(b"x-mcp-toolsets", b"files")], b"disabled_tools=c", narrowed(toolsets=only("files"), disabled=("c",))),
        ([(b"x-mcp-dynamic", b"No")], b"", View()),
        ([(b"x-mcp-dynamic", b"")], b"", View()),
        ([(b"x-mcp-dynamic", b"true")], b"", View()),
        ([], b"dynamic=0&toolsets=files", narrowed(toolsets=only("files"))),
    ],
)
def test_options_are_read_into_a_view(headers: list[Header], query: bytes, view: View) -> None:
    assert view_of(headers, query) == view


@pytest.mark.parametrize(
    ("headers", "query", "why"),
    [
        (
            [(b"x-mcp-toolsets", b"files")],
            b"toolsets=files",
            "Both the header X-Mcp-Toolsets and the query parameter toolsets are given, and neither goes before the "
            "other. Leave one out.",
        ),
        (
            [(b"x-mcp-enabled-tools", b"")],
            b"enabled_tools=",
            "Both the header X-Mcp-Enabled-Tools and the query parameter enabled_tools are given, and neither goes "
            "before the other. Leave one out.",
        ),
        (
            [(b"x-mcp-toolsets", b"files"), (b"x-mcp-toolsets", b"folders")],
            b"",
            "The header X-Mcp-Toolsets is given more than once. Join its values with commas.",
        ),
        (
            [],
            b"disabled_tools=a&disabled_tools=b",
            "The query parameter disabled_tools is given more than once. Join its values with commas.",
        ),
        (
            [],
            b"dynamic=maybe",
            "The query parameter dynamic is 'maybe'. Write yes, y, true or 1; or no, n, false or 0.",
        ),
        (
            [(b"x-mcp-toolset", b"files")],
            b"",
            "The header X-Mcp-Toolset is unknown. Did you mean x-mcp-toolsets?",
        ),
        (
            [],
            b"presentation=search",
            "The query parameter presentation is unknown. How tools are shown is chosen by the path: connect to "
            "/mcp/search, /mcp/meta, /mcp/deferred, /mcp/code or /mcp/direct.",
        ),
        ([], b"Toolsets=files", "The query parameter Toolsets is unknown. Did you mean toolsets?"),
        ([], b"enabled-tools=a", "The query parameter enabled-tools is unknown. Did you mean enabled_tools?"),
        ([], b"X-Mcp-Toolsets=web", "The query parameter X-Mcp-Toolsets is unknown. Did you mean toolsets?"),
        ([], b"x_mcp_disabled=a", "The query parameter x_mcp_disabled is unknown. Did you mean disabled_tools?"),
        ([], b"mcpEnabledTool=a", "The query parameter mcpEnabledTool is unknown. Did you mean enabled_tools?"),
        ([], b"x-mcp-dynamic=1", "The query parameter x-mcp-dynamic is unknown. Did you mean dynamic?"),
        ([], b"tools=x", "The query parameter tools is unknown. Did you mean toolsets or enabled_tools?"),
        ([], b"TOOLS[]=x", "The query parameter TOOLS[] is unknown. Did you mean toolsets or enabled_tools?"),
        ([], b"app=bench&Enabled=a", "The query parameter Enabled is unknown. Did you mean enabled_tools?"),
        ([], b"DISABLED=", "The query parameter DISABLED is unknown. Did you mean disabled_tools?"),
        (
            [(b"X-MCP-Disabled", b"a")],
            b"",
            "The header X-Mcp-Disabled is unknown. Did you mean x-mcp-disabled-tools?",
        ),
        (
            [(b"x-mcp-tools", b"a")],
            b"",
            "The header X-Mcp-Tools is unknown. Did you mean x-mcp-toolsets or x-mcp-enabled-tools?",
        ),
        (
            [(b"x-mcp-enabled-tools", b"na\xefve")],
            b"",
            "The header X-Mcp-Enabled-Tools is not UTF-8 text. Encode it as UTF-8.",
        ),
        ([], b"toolsets=%FF", "The query parameter toolsets is not UTF-8 text. Encode it as UTF-8."),
        (
            [(b"x-mcp-enabled-tools", b"a" * (MAX_OPTION_BYTES + 1))],
            b"",
            "The header X-Mcp-Enabled-Tools is longer than 16384 bytes. Use patterns or toolsets.",
        ),
        (
            [(b"x-mcp-enabled-tools", ",".join(map(str, range(MAX_NAMES + 1))).encode())],
            b"",
            "The header X-Mcp-Enabled-Tools lists 1001 names; at most 1000 are taken. Use patterns.",
        ),
        (
            [],
            b"&".join(b"a=1" for _ in range(MAX_PARAMETERS + 1)),
            "The address has more than 100 query parameters. Leave out what is not needed.",
        ),
    ],
)
def test_an_option_that_cannot_be_read_is_told_by_name_and_how_to_mend_it(
    headers: list[Header], query: bytes, why: str
) -> None:
    assert view_of(headers, query) == BadOption(why)


def test_a_view_is_that_of_the_one_who_asks() -> None:
    ada = PrincipalId("ada")
    assert view_of([(b"x-mcp-toolsets", b"files")], b"", ada) == View(ada).narrow(Selection(toolsets=only("files")))


@pytest.mark.behaviour("request.dynamic")
@pytest.mark.parametrize(
    ("headers", "query", "wanted"),
    [
        ([], b"", None),
        ([(b"x-mcp-dynamic", b"true")], b"", True),
        ([(b"x-mcp-dynamic", b" Yes ")], b"toolsets=files", True),
        ([(b"x-mcp-dynamic", b"")], b"", False),
        ([], b"dynamic=1", True),
        ([], b"dynamic=n&toolsets=files", False),
        ([], b"dynamics=1", None),
        ([(b"x-mcp-dynamic", b"perhaps")], b"", None),
        ([(b"x-mcp-dynamic", b"true")], b"dynamic=1", None),
        ([(b"x-mcp-dynamic", b"true"), (b"x-mcp-dynamic", b"true")], b"", None),
        ([(b"x-mcp-toolsets", b"files")], b"", None),
    ],
)
def test_whether_a_request_wants_meta_tools_is_read_or_left_to_who_reads_all(
    headers: list[Header], query: bytes, wanted: bool | None
) -> None:
    assert wants_meta_tools(headers, query) is wanted
