"""What holds for every test: the async backend, how hard hypothesis tries, and that CI skips nothing."""

import gc
import os
import signal
import ssl
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.cpu_report", "tests.servers.postgres"]

# A deadline or a slow-generation check is a wall-clock assert: a machine that shares its cores fails it at random.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False)

settings.register_profile("pegboard", _UNTIMED, max_examples=25)
settings.register_profile("ci", _UNTIMED, max_examples=50, derandomize=True, print_blob=True)
settings.register_profile("soak", _UNTIMED, max_examples=50_000, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "pegboard")


# A shell that starts the tests in the background has them ignore Ctrl-C, and `nohup` has them ignore SIGHUP: the
# programs that tests start would inherit that, and tests of these signals would hang.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _load_verify_locations(
    self: ssl.SSLContext, cafile: str | None = None, capath: str | None = None, cadata: str | bytes | None = None
) -> None:
    """Without the certificates of the system: no test trusts a host beyond this machine, and to read them takes each
    HTTP client longer than a request."""
    if cafile != ssl.get_default_verify_paths().cafile:
        super(ssl.SSLContext, self).load_verify_locations(cafile, capath, cadata)


ssl.SSLContext.load_verify_locations = _load_verify_locations  # type: ignore[method-assign,assignment]
ssl.SSLContext.load_default_certs = lambda self, purpose=ssl.Purpose.SERVER_AUTH: None  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end: to look through them for garbage again and again costs many seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An expected failure is reported as skipped too, but it ran.
    if not hasattr(report, "wasxfail"):
        _fail_if_skipped_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped_in_ci(report)
    return report


def _fail_if_skipped_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI") != "true" or report.outcome != "skipped":
        return
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = (
        f"{report.nodeid} was skipped under CI=true ({why}). "
        "Give CI what the test needs, or list the promise as a gap in tests/behaviours.yaml."
    )
