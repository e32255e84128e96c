"""Many small cases in one test: every case runs, and the test fails with a list of those that failed.

    with collect_failures() as failures:
        for name, value in CASES.items():
            with failures.case(name):
                assert holds(value)

`@each_case(names, cases)` does the same to a whole test and is written like `pytest.mark.parametrize`. Use that one
where somebody wants to run a single case; a fixture is the same one for all cases of `each_case`.
"""

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

MAX_SHOWN = 20


class FailureCollector:
    def __init__(self) -> None:
        self.count = 0
        self._failures: list[str] = []

    @contextmanager
    def case(self, name: object) -> Iterator[None]:
        """A failed assertion or a raised error in the block is a failure of this case; later cases still run."""
        self.count += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  whatever a case raises is its failure
            frames = traceback.extract_tb(error.__traceback__)[1:]
            where = next((frame for frame in reversed(frames) if "/tests/" in frame.filename), frames[-1])
            self._failures.append(
                f"{name}: {type(error).__name__}: {error}\n    {where.filename}:{where.lineno}: {where.line}"
            )

    def report(self) -> None:
        """Fails with every failed case; fails, too, where there was no case: such a test would check nothing."""
        __tracebackhide__ = True
        if not self.count:
            pytest.fail("There was no case to check.")
        if self._failures:
            shown = "\n".join(self._failures[:MAX_SHOWN])
            more = len(self._failures) - MAX_SHOWN
            rest = f"\n… and {more} more" if more > 0 else ""
            pytest.fail(f"{len(self._failures)} of {self.count} cases failed:\n{shown}{rest}")


@contextmanager
def collect_failures() -> Iterator[FailureCollector]:
    """Reports at the end of the block."""
    collector = FailureCollector()
    yield collector
    collector.report()


def each_case(
    names: str | Sequence[str], cases: Iterable[Any], *, name: Callable[..., object] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Calls the decorated test once per case. `name` says how a case is called in the report; else by its values."""
    several = not isinstance(names, str)
    listed = list(cases)
    arguments = [dict(zip(names, case, strict=True)) if several else {str(names): case} for case in listed]

    def called(case: dict[str, Any]) -> object:
        return name(*case.values()) if name is not None else ", ".join(map(repr, case.values()))

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(test):

            @wraps(test)
            async def over_all_cases(**fixtures: Any) -> None:
                with collect_failures() as failures:
                    for case in arguments:
                        with failures.case(called(case)):
                            await test(**case, **fixtures)

            through: Callable[..., Any] = over_all_cases
        else:

            @wraps(test)
            def through_all_cases(**fixtures: Any) -> None:
                with collect_failures() as failures:
                    for case in arguments:
                        with failures.case(called(case)):
                            test(**case, **fixtures)

            through = through_all_cases
        signature = inspect.signature(test)
        left = [each for each in signature.parameters.values() if not arguments or each.name not in arguments[0]]
        through.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return through

    return decorate
