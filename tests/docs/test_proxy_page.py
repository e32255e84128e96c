"""What the page on reverse proxies tells nginx is well formed, leads to the gateway and passes on what it reads."""

import re

from tests.docs.pages import Block, blocks

from pegboard.surfaces.cli.api import Options
from pegboard.surfaces.mcp.stdio import MAX_LINE_BYTES

Directives = dict[tuple[str, ...], str]


def directives(block: Block) -> Directives:
    """Each directive by the blocks around it and its name, a header by its name too; none may be there twice."""
    found: Directives = {}
    inside: list[str] = []
    for line in (line.strip() for line in block.text.splitlines()):
        if not line or line.startswith("#"):
            continue
        if line == "}":
            inside.pop()
        elif line.endswith(" {"):
            inside.append(line.removesuffix(" {"))
        else:
            directive = re.fullmatch(r"(proxy_set_header \S+|[a-z_]+) ([^;]+);", line)
            assert directive is not None, f"{block}: {line}"
            place = (*inside, directive[1])
            assert place not in found, f"{block}: {line} is there twice"
            found[place] = directive[2]
    assert inside == [], f"{block}: {inside} has no end"
    return found


def test_nginx_is_told_where_the_gateway_is_and_what_it_reads() -> None:
    (block,) = blocks("nginx")
    usual = Options()
    inside = ("server", "location /")
    assert directives(block) == {
        ("server", "listen"): "443 ssl",
        (*inside, "proxy_pass"): f"http://{usual.host}:{usual.port}",
        (*inside, "proxy_http_version"): "1.1",
        (*inside, "proxy_set_header Connection"): '""',
        (*inside, "proxy_set_header Host"): "$http_host",
        (*inside, "proxy_set_header X-Forwarded-For"): "$proxy_add_x_forwarded_for",
        (*inside, "proxy_set_header X-Forwarded-Proto"): "$scheme",
        (*inside, "proxy_buffering"): "off",
        (*inside, "proxy_read_timeout"): "1h",
        (*inside, "client_max_body_size"): f"{MAX_LINE_BYTES // 1024**2}m",
    }
