"""Who may use the gateway over HTTP: tokens, browser sessions, failed attempts."""
