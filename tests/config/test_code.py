"""What the file says of programs: the Python, its limits, and whether their tool is listed."""

import pytest
from tests.config.loading import problems, settings

from pegboard.core.model.settings import CodeLimits, CodeSettings, PythonSandbox


@pytest.mark.behaviour("code.settings")
def test_without_a_word_programs_run_by_the_usual_limits() -> None:
    assert settings("servers: {}").declared.code == CodeSettings()
    assert settings("code: {}").declared.code == CodeSettings()


@pytest.mark.behaviour("code.settings")
def test_every_key_is_what_it_says() -> None:
    text = """
code:
  listed: true
  sandbox: full
  fallback: true
  type_check: false
  max_runs: 3
  limits: {cpu: 5, time: 2m, memory_mb: 64, calls: 200, concurrency: 4, result_kb: 8, stdout_kb: 16, code_kb: 32,
    sleep: 500ms}
"""
    limits = CodeLimits(5.0, 120.0, 64 << 20, 200, 4, 8 << 10, 16 << 10, 32 << 10, 0.5)
    assert settings(text).declared.code == CodeSettings(True, PythonSandbox.FULL, True, False, limits, 3)


@pytest.mark.behaviour("code.settings")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("code: {sandbox: wasm}", "code.sandbox: this must be one of monty, full; it is 'wasm'."),
        ("code: {limits: {calls: 501}}", "code.limits.calls: "),
        ("code: {limits: {time: 0}}", "code.limits.time: "),
        ("code: {timeout: 5}", "Write limits: {time: 60s}."),
        ("code: {enabled: true}", "write presentation: code, or listed: true"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, told: str) -> None:
    [problem] = problems(text)
    assert told in problem
