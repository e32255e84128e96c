"""Signing in to servers by OAuth 2.1: the SDK's flow, driven by a person's clicks, and the tokens that come of it.

Nothing here opens a browser: `SignInService` hands out links, and `OAuthAccount` is what a connection asks for its
credentials."""
