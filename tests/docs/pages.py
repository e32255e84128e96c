"""The pages that people read, taken apart: headings, links, code spans and fenced blocks, each with its line."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
OUTSIDE: Final = re.compile(r"[a-z][a-z0-9+.-]*:")
_FENCE: Final = re.compile(r"( *)(`{3,})(\S*)")
_SPAN: Final = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_LINK: Final = re.compile(r"\[[^\]]*\]\(\s*([^()\s]+)\s*\)")
_HEADING: Final = re.compile(r"#{1,6} +(.+?) *#*")


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Page:
    path: Path
    root: Path = ROOT

    def __str__(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        return [*self._parts[0]]

    @cached_property
    def prose(self) -> str:
        """The text without its blocks, line for line where it was."""
        return self._parts[1]

    @cached_property
    def spans(self) -> list[str]:
        """What is written as code within a sentence. A line break in it is a space."""
        return [" ".join(found[1].split()) for found in _SPAN.findall(self.prose)]

    @cached_property
    def links(self) -> list[tuple[int, str]]:
        """Where each link stands and where it leads."""
        plain = _SPAN.sub(lambda found: re.sub(r"[^\n]", "x", found.group()), self.prose)
        return [(plain.count("\n", 0, found.start()) + 1, found.group(1)) for found in _LINK.finditer(plain)]

    @cached_property
    def anchors(self) -> set[str]:
        """As GitHub makes them of headings; one that is there twice is numbered."""
        taken: Counter[str] = Counter()
        anchors: set[str] = set()
        for line in self.prose.splitlines():
            if heading := _HEADING.fullmatch(line):
                title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
                slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
                anchors.add(f"{slug}-{taken[slug]}" if taken[slug] else slug)
                taken[slug] += 1
        return anchors

    @cached_property
    def commands(self) -> list[str]:
        """Every line of its shell blocks, without comments at its end."""
        return [
            re.sub(r"\s+#\s.*$", "", line)
            for block in self.blocks
            if block.language == "sh"
            for _, line in lines(block)
        ]

    @cached_property
    def shown(self) -> dict[str, str]:
        """What the page shows after a command: the text block that follows a shell block, by the block's last line."""
        pairs = zip(self.blocks, self.blocks[1:], strict=False)
        return {
            [*lines(command)][-1][1]: output.text
            for command, output in pairs
            if (command.language, output.language) == ("sh", "text")
        }

    @cached_property
    def _parts(self) -> tuple[list[Block], str]:
        blocks: list[Block] = []
        prose: list[str] = []
        lines = enumerate(self.text.splitlines(), start=1)
        for number, line in lines:
            fence = _FENCE.match(line)
            if fence is None:
                prose.append(line)
                continue
            indent, marks, language = fence.groups()
            inside: list[str] = []
            for _, each in lines:
                if each.strip() == marks:
                    break
                inside.append(each.removeprefix(indent))
            else:
                raise AssertionError(f"{self}:{number}: this block has no end")
            prose += [""] * (len(inside) + 2)
            blocks.append(Block(str(self), number, language, "".join(f"{each}\n" for each in inside)))
        return blocks, "\n".join(prose)


def page(name: str) -> Page:
    return Page(ROOT / name)


def pages() -> list[Page]:
    """All that belong to the documentation, wherever they lie."""
    root = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
    inner = ("benchmarks/README.md", "tests/README.md", "tests/servers/README.md")
    single = (ROOT / name for name in (*root, *inner))
    return [Page(path) for path in (*single, *_below("docs"), *_below("adr"), *_below("examples"))]


def blocks(*languages: str) -> list[Block]:
    return [block for page in pages() for block in page.blocks if block.language in languages]


def lines(block: Block) -> Iterator[tuple[int, str]]:
    """The lines of a shell block as a shell sees them: a backslash at the end joins two; a comment alone is none."""
    joined = ""
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        joined += line.strip()
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        if joined and not joined.startswith("#"):
            yield number, joined
        joined = ""


def is_as_shown(shown: str, real: str) -> bool:
    """Whether this is what a page shows; `…` there stands for anything, on a line of its own for any lines."""
    parts = [re.escape(line.rstrip()).replace("…", ".*") for line in shown.splitlines()]
    pattern = "".join(r"(?:[^\n]*\n)*?" if part == ".*" else f"{part}\n" for part in parts)
    told = "".join(f"{line.rstrip()}\n" for line in real.splitlines())
    return re.fullmatch(pattern, told) is not None


def _below(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.md"))
