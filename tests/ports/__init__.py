"""One suite a port, over every implementation of it."""
