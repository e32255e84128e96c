"""The composition root: the one place that knows all adapters and ties them into a running gateway.

Imports of adapters stand inside the functions that need them: a command loads what it uses and nothing else.
"""
