"""Reads hand-written sbatch scripts without running anything of them."""
