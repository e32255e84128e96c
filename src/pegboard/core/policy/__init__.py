"""What people decided: switches, approvals, overrides, grants; and rows that cannot be read."""
