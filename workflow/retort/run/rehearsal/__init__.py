"""The rehearsal: the papers' whole plan in miniature, in one process."""
