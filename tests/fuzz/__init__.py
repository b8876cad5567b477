"""Bytes that nobody would send, led by what code they reach: `python -m tests.fuzz --help`."""
