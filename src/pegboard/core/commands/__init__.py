"""Everything an operator can do, as commands with one function that applies them to the policy."""
