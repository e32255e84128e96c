"""Everything an operator can do, as commands, and the function that applies them to the policy."""
