"""Scripts that print the figures the project promises; each says how it is run."""
