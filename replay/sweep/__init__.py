"""Many runs at once: traces x policies x seeds, each kept as it is done, so that a break loses next to nothing."""
