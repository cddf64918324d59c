"""Tables: scores collected and checked, compared with what was published, printed."""
