"""Front ends that need a framework: `python -m halfstep._frontend REQUEST` in a child process."""
