"""What a scheduler's answers say about jobs, and what follows from them. Pure: others ask, this decides."""
