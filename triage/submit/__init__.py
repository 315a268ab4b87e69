"""A run described once: its configuration, the batch script that is made of it, and its submission."""
