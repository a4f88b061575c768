"""All tests. A test's name is a sentence about behaviour; the folder says what it needs."""
