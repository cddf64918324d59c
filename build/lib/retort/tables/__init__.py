"""Tables: measure their cells, print them beside the published numbers, and judge and record what they show."""
