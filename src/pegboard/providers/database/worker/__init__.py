"""A process for engines that run inside their caller: limited from outside, and killed when it does not end.

`frames`, `session` and `main` are the worker's; it imports nothing else of the gateway but values of the core.
"""
