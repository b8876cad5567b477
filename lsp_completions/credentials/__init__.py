"""Whose name goes along with a request, and where the credential comes from."""
