"""Follows jobs, tells what happens to them, and ends them early on proof."""
