"""One state for all that happens: nodes, money, jobs and time; no network and no wire format here."""
