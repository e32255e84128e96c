"""Monty as a sandbox: its workers, and one run."""
