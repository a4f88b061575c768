"""What set-up needs: the recipes that bring the toolchain and the Python language host.

Nothing here is imported by the rooms of the product; tests may import it.
"""
