"""The nouns of design: frozen pydantic models, no I/O. Import from the module that holds the noun."""
