"""Schedulers: each hides one way to run a job behind the same few questions."""
