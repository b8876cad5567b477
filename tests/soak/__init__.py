"""Random sessions with the real process, as long as one likes: `python -m tests.soak --help`."""
