"""What comes of suggestions, counted on this machine and told nobody: numbers, and no code."""
