"""LLM ghost text for any editor, from Sourcegraph or your own model."""

__version__ = "0.1.0"
