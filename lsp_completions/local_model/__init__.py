"""The embedded model: the servers' side, the process all windows share, and its file."""
