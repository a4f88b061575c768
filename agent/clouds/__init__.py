"""The clouds' own APIs as CloudReaders: what each counts to a pool, and protection against its scale-in.

One pair of files a cloud: `<cloud>.py` reads and decides nothing, `<cloud>_calls.py` alone imports
the SDK and turns its errors into ours.
"""
