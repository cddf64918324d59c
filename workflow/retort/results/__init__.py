"""Results on disk: scores read and checked, the frame of a table, and the runs behind each number."""
