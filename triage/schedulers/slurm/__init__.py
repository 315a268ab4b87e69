"""Slurm through its commands: argv builders and parsers are pure, `client` runs them."""
