"""The short way of `tools/call` to a server: bytes in, bytes out, beside the SDK's session that does all the rest.

No task and no timer for a call, nothing built from a result that is only passed on.
"""
