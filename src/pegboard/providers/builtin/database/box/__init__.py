"""A process for engines that run inside the one who asks: it is capped from outside, and killed when it does not end.

`frames` and `main` are the worker's; it imports nothing else of the gateway but the core's values.
"""
