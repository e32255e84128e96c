"""What Pegboard costs. Each benchmark is a command, `python -m benchmarks.NAME`, with its floor in the same run."""
