"""The nouns that everything imports: ids, tools, servers, toolsets, principals, settings."""
