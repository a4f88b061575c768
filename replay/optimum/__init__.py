"""The offline optimum of the burst problem: exact when small, bounded from both sides when large (docs/optimum.md)."""
