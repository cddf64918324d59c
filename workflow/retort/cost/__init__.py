"""What a study takes before anything runs: FLOPs of every job, hours on a machine that was measured or named."""
