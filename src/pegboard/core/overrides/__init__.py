"""What overrides say of a tool and do to its schema. Below the policy."""
