"""How a person is shown a call: the renderers there are, what each takes, and one call rendered by one of them."""
