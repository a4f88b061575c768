"""Public bug reports that must never happen here; each test is named after what must hold."""
