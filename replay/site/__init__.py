"""Replay with the whole truth on: nodes that boot, fail, idle, are taken back and cost money; the shipped decide()."""
