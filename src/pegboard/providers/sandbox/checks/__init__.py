"""Checks of a program before it runs: what it lacks, awaits, passes and reads."""
