"""Pure values and total functions: tools, decisions, and which tools a caller gets. Standard library only; no clock, no
files, no network, no logging.

Standard library only. Nothing here waits, reads a clock, logs or touches the outside.
"""
