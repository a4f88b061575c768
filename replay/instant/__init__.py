"""Replay in the semantics of Starburst's simulator: nodes of 8 on-prem, a cloud without limit or start-up time."""
