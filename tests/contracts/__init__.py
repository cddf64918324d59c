"""What holds for whatever is registered."""
