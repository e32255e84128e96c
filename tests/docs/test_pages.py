"""What the other tests of this folder see of a page is what stands there."""

from pathlib import Path

import pytest
from tests.docs.pages import Block, Page, is_as_shown, lines


@pytest.mark.parametrize(
    ("shown", "is_it"),
    [
        ("one\ntwo\nthree\n", True),
        ("one\n…\n", True),
        ("…\nthree\n", True),
        ("one\n…\ntwo\nthree\n", True),
        ("one\nt…o\nthree\n", True),
        ("one\nthree\n", False),
        ("one\ntwo\n", False),
        ("one\ntwo…three\n", False),
        ("one\n…\nfour\n", False),
        ("one\nt.o\nthree\n", False),
    ],
)
def test_what_a_page_shows_is_compared_with_all_that_was_printed(shown: str, is_it: bool) -> None:
    assert is_as_shown(shown, "one\ntwo  \nthree\n") is is_it


SAMPLE = """\
# Title

Say `pegboard
why` and ``a `b` c``.

```sh
# first
one \\
  two   # why
three
```

```text
[printed](no.md)
```

- in a list:

  ```json
  {}
  ```
"""


def test_a_page_is_taken_apart_into_spans_blocks_commands_and_what_they_show(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(SAMPLE, "utf-8")
    page = Page(tmp_path / "page.md", tmp_path)
    assert page.spans == ["pegboard why", "a `b` c"]
    assert page.blocks == [
        Block("page.md", 6, "sh", "# first\none \\\n  two   # why\nthree\n"),
        Block("page.md", 13, "text", "[printed](no.md)\n"),
        Block("page.md", 19, "json", "{}\n"),
    ]
    assert [*lines(page.blocks[0])] == [(9, "one two   # why"), (10, "three")]
    assert page.commands == ["one two", "three"]
    assert page.shown == {"three": "[printed](no.md)\n"}
    assert (page.links, page.anchors) == ([], {"title"})


def test_a_block_without_an_end_is_told(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("a\n\n```sh\nb\n", "utf-8")
    with pytest.raises(AssertionError, match=r"page\.md:3: this block has no end"):
        Page(tmp_path / "page.md", tmp_path).blocks  # noqa: B018  reading it is what fails
