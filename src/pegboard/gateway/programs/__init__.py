"""Programs that call tools, each run from start to end: its functions, its calls, its waiting for people, its answer.

Nothing of it is loaded before the first program, but for `code.py`.
"""
