"""How a call is shown to a person: renderers, their configuration, one rendered call."""
