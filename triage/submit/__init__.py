"""A run described once: its configuration, and the batch script that is made of it. Pure but for the template's file."""
