"""What the tool remembers: watched and submitted jobs, how far logs were read, verdicts, actions, who watches what."""
