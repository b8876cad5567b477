"""What may be sent at all: one gate, and all that has a say in it."""
