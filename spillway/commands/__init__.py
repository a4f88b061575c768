"""One file a command or a group of them: reads options, calls one thing, prints the answer."""
