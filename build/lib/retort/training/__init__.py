"""The training loop, its optimiser, and checkpoints from which a killed job resumes."""
