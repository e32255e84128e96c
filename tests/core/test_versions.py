"""Which of two versions of a toolset is the later."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.model.toolset import describe_downgrade, is_downgrade, is_same_version

IN_ORDER = (
    *("0.9", "1.0-foo", "1.0.dev1", "1.0a1", "1.0-alpha.2", "1.0.0-beta", "1.0b2", "1.0rc1", "1.0rc11", "1.0"),
    *("1.0.post1", "1.0.1", "1.9", "1.10", "v2", "2.0.1", "2024.1", "2024.10"),
)


@pytest.mark.behaviour("toolsets.downgrades_are_known")
@pytest.mark.parametrize(("earlier", "later"), [*pairwise(IN_ORDER)])
def test_the_earlier_of_two_versions_is_a_downgrade(earlier: str, later: str) -> None:
    assert is_downgrade(later, earlier)
    assert not is_downgrade(earlier, later)
    assert not is_same_version(earlier, later)


@pytest.mark.parametrize(
    ("one", "other"), [("1.0", "1"), ("1.0.0", "v1"), ("1.0+build.1", "1.0+2"), ("2024.01", "2024.1"), (" 1.0 ", "1.0")]
)
def test_one_version_in_two_spellings_is_neither_a_downgrade_nor_another(one: str, other: str) -> None:
    assert is_same_version(one, other)
    assert not is_downgrade(one, other)
    assert not is_downgrade(other, one)


@pytest.mark.behaviour("toolsets.downgrades_are_known")
@pytest.mark.parametrize("other", ["", "abc", "latest", "🎉"])
def test_what_is_no_version_is_a_downgrade_of_any_that_is(other: str) -> None:
    """Or a bundle could go back to any version in two steps, the first of them without one."""
    assert is_downgrade("2024-01-01", other)
    assert not is_downgrade(other, "2024-01-01")
    assert not is_same_version("2024-01-01", other)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("1.0", "kit 5.0 is installed, and this is 1.0, which is older."),
        (" ", "kit 5.0 is installed, and this has no version, so that it may be older."),
        ("abc", "kit 5.0 is installed, and this says 'abc', which is no number, so that it may be older."),
    ],
)
def test_a_downgrade_is_told_by_what_is_there_and_what_comes(new: str, told: str) -> None:
    assert describe_downgrade("kit", "5.0", new) == told


@pytest.mark.parametrize(("one", "other"), [("", "x"), ("x", ""), ("latest", "stable"), ("🎉", "☃")])
def test_what_cannot_be_compared_is_no_downgrade(one: str, other: str) -> None:
    assert not is_downgrade(one, other)
    assert not is_same_version(one, other)


@given(st.text(), st.text(), st.text())
def test_any_texts_stand_in_one_order(one: str, other: str, third: str) -> None:
    assert not (is_downgrade(one, other) and is_downgrade(other, one))
    assert is_same_version(one, one)
    if is_downgrade(one, other) and is_downgrade(other, third):
        assert is_downgrade(one, third)
