"""A test over many cases must fail when one of them fails, and name it."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio.lowlevel
import pytest
from tests.support.collect_failures import MAX_SHOWN, collect_failures, each_case


def hold() -> None: ...


def fail_an_assertion() -> None:
    assert [1] == [2], "one is not two"


def raise_an_error() -> None:
    raise ValueError("out of range")


def expect_an_error_in_vain() -> None:
    with pytest.raises(ValueError):
        pass


def go_through(cases: Mapping[str, Callable[[], None]]) -> None:
    with collect_failures() as failures:
        for name, check in cases.items():
            with failures.case(name):
                check()


def test_every_failed_case_is_named_with_its_error_and_its_place_and_later_cases_run() -> None:
    ran: list[str] = []
    cases = {
        "first": hold,
        "second": fail_an_assertion,
        "third": raise_an_error,
        "fourth": expect_an_error_in_vain,
        "fifth": lambda: ran.append("fifth"),
    }
    with pytest.raises(pytest.fail.Exception) as raised:
        go_through(cases)
    report = str(raised.value)
    assert ran == ["fifth"]
    assert "3 of 5 cases failed" in report
    assert [name for name in cases if f"\n{name}: " in report] == ["second", "third", "fourth"]
    assert "second: AssertionError: one is not two" in report
    assert "third: ValueError: out of range" in report
    assert "DID NOT RAISE" in report
    line = inspect.getsourcelines(raise_an_error)[1] + 1
    assert f"{__file__}:{line}: raise ValueError" in report


def test_cases_that_hold_pass() -> None:
    go_through({"first": hold, "second": hold})


def test_without_a_case_a_test_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="no case"):
        go_through({})


def test_an_error_outside_of_the_cases_is_not_hidden() -> None:
    def collect_and_fail() -> None:
        with collect_failures() as failures:
            with failures.case("fails"):
                raise_an_error()
            raise KeyError("between")

    with pytest.raises(KeyError):
        collect_and_fail()


def test_of_very_many_failures_the_first_are_shown_and_the_others_counted() -> None:
    with pytest.raises(pytest.fail.Exception, match=rf"{MAX_SHOWN - 1}: ValueError(.|\n)*… and 5 more"):
        go_through({str(number): raise_an_error for number in range(MAX_SHOWN + 5)})


@each_case(("number", "twice"), [(1, 2), (2, 4)])
def test_a_test_is_called_with_each_case_and_with_its_fixtures(number: int, twice: int, tmp_path: Path) -> None:
    assert number * 2 == twice
    assert tmp_path.is_dir()


def test_a_decorated_test_fails_with_the_names_of_the_cases_that_fail() -> None:
    @each_case("number", range(4))
    def check_is_even(number: int) -> None:
        assert number % 2 == 0

    @each_case(("number", "half"), [(2, 1), (4, 3)], name=lambda number, half: f"half of {number}")
    def check_half(number: int, half: int) -> None:
        assert number == half * 2

    with pytest.raises(pytest.fail.Exception, match=r"2 of 4 cases failed:\n1: Assert(.|\n)*\n3: Assert"):
        check_is_even()
    with pytest.raises(pytest.fail.Exception, match="1 of 2 cases failed:\nhalf of 4: AssertionError"):
        check_half()


@pytest.mark.anyio
async def test_an_asynchronous_test_is_awaited_for_each_case() -> None:
    @each_case("number", range(3))
    async def check_is_small(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        assert number < 2

    with pytest.raises(pytest.fail.Exception, match="1 of 3 cases failed:\n2: AssertionError"):
        await check_is_small()
