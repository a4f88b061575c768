"""Vocabulary that the agent, the Pulumi program and the twin share; it holds no behaviour of any of them."""
