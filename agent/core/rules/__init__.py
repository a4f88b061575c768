"""One section of the policy file per file: its settings, its keys, its sentences. Meaning is in the policies."""
