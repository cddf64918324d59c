"""Results on disk: scores read and checked, the tidy CSV, and the runs behind each number."""
