"""Front ends that need a framework of their own."""
