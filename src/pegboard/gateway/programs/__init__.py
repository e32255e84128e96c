"""Code mode: programs that call tools. Loaded with the first program.

Nothing of it is loaded before the first program, but for `code.py`.
"""
