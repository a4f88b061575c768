"""Set-up of the toolchain: virtual environment, Pulumi CLI, Python language host.

Standard library only: it runs before anything is installed. Every step can be interrupted and run
again; a step is done when its stamp says so, and a stamp is written last, by rename.
"""
