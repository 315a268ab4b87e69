"""What an expert needs to look at a failure elsewhere, in one archive."""
