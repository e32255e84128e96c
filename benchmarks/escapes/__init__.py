"""Whether sandboxes hold: recorded attacks, each run in each sandbox and once without any, where it should succeed."""
