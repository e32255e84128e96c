"""The fast path for `tools/call` and `tools/list` over HTTP: bytes in, bytes out; the SDK handles everything else."""
