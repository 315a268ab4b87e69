"""What Megatron-LM requires of a launch, judged before the queue does."""
