"""The twin's clouds behind the Pulumi plugins: what exists, what refers to what, what is refused.

Node groups and pools live in the world; everything else is remembered here and has no behaviour.
"""
