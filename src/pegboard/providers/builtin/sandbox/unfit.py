"""Programs that no sandbox takes, told before anything is started for them."""

from pegboard.ports.sandbox import Fault, Limits, Program


def unfit(program: Program, limits: Limits) -> Fault | None:
    try:
        size = len(program.code.encode())
    except UnicodeEncodeError:
        return Fault("SyntaxError", "The program holds half of a character (a lone surrogate).")
    if size > limits.code:
        return Fault("ValueError", f"The program has {size:,} bytes and may have {limits.code:,}. Send less code.")
    if program.code.lstrip("\ufeff \t\r\n").startswith("```"):
        why = "The program stands between ``` marks, which are no Python. Send the code alone, without these lines."
        return Fault("SyntaxError", why, 1)
    return None
