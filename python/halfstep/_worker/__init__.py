"""Work that the native command hands to the Python it lies beside: `python -m halfstep._worker`."""
