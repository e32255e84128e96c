"""Pure values and total functions: what a tool is, what people decided, and which tools a caller gets.

Standard library only. Nothing here waits, reads a clock, logs or touches the outside.
"""
