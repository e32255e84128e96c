"""The short road over HTTP for `tools/call` and `tools/list`: bytes in, bytes out, and the SDK for everything odd."""
