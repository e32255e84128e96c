"""Tools as typed Python functions: names, stubs, arguments and results. Bounded for any schema."""
