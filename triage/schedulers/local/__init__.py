"""Runs sbatch scripts on this machine, without Slurm: for laptops, demonstrations and tests.

The script runs byte for byte as it is. A small `srun` and `scontrol` stand first on its PATH; each node of the
allocation is a name that resolves to a loopback address.
"""
