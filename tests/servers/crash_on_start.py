"""A server that cannot start: three lines on standard error, then exit code 3."""

import os
import sys

LOG = b"""\
crash_on_start: reading settings
crash_on_start: DATABASE_URL is not set
crash_on_start: giving up
"""

# In one write: the log is complete also while the server is tried again.
os.write(2, LOG)
sys.exit(3)
