"""Tables: collect and check scores, compare them with the published numbers, and print both."""
