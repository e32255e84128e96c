"""What people look at: explanations, the dashboard, what-if comparisons. Above everything else in core."""
