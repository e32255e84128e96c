"""Programs that no sandbox takes, told before anything is started for them."""

from pegboard.ports.sandbox import Program, ProgramFailure, SandboxLimits


def program_problem(program: Program, limits: SandboxLimits) -> ProgramFailure | None:
    try:
        size = len(program.code.encode())
    except UnicodeEncodeError:
        return ProgramFailure("SyntaxError", "The program holds half of a character (a lone surrogate).")
    if size > limits.code:
        return ProgramFailure(
            "ValueError", f"The program has {size:,} bytes and may have {limits.code:,}. Send less code."
        )
    if program.code.lstrip("\ufeff \t\r\n").startswith("```"):
        why = "The program stands between ``` marks, which are no Python. Send the code alone, without these lines."
        return ProgramFailure("SyntaxError", why, 1)
    return None
