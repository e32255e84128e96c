"""Python tools: functions of a toolset's own files, run in worker processes and never in the gateway.

Nothing is imported here, because the worker program lives below and must start fast.
"""
