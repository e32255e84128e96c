"""The files that references stand for."""

from pathlib import Path

from pegboard.config.settings import parse_settings_text
from pegboard.config.watch import ReferencedFiles, connection_texts, node_texts, referenced_files
from pegboard.core.model.server import Http, OAuth, Stdio


def test_the_files_are_those_that_would_be_read(tmp_path: Path) -> None:
    texts = [
        "${file:a}",
        "Bearer ${file: b.txt }!",
        "$${file:c}",
        "${D:-x}",
        "${file:~/e}",
        "${file:/f}",
        "${",
        "plain",
    ]
    assert referenced_files(texts, tmp_path, {"HOME": "/house/peg"}) == {
        tmp_path / "a",
        tmp_path / "b.txt",
        Path("/house/peg/e"),
        Path("/f"),
    }


def test_every_text_of_a_connection_and_of_a_file_is_looked_at() -> None:
    assert [*connection_texts(Stdio("a", ("b",), {"C": "d"}, "e"))] == ["a", "b", "d", "e"]
    assert [*connection_texts(Http("a", headers={"B": "c"}, oauth=OAuth("d", "e", None)))] == ["a", "c", "d", "e"]
    assert [*node_texts(parse_settings_text("a: {b: [x, {c: y}]}\nd: z", "pegboard.yaml").root)] == ["x", "y", "z"]
    assert [*node_texts(None)] == []


def test_a_file_has_changed_when_it_holds_something_else(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    looks, files = ReferencedFiles(), frozenset({one, two})
    assert looks.changed_files(files) == frozenset(), "the first look"
    assert looks.changed_files(files) == frozenset()
    one.write_text("2")
    two.write_text("2")
    assert looks.changed_files(files) == files
    one.write_text("2")
    assert looks.changed_files(files) == frozenset(), "written again, with the same content"
    one.unlink()
    assert looks.changed_files(files) == frozenset(), "away for a moment"
    one.write_text("3")
    assert looks.changed_files(files) == {one}
    assert looks.changed_files(frozenset()) == frozenset()
