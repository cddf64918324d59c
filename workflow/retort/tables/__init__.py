"""Tables: measure their cells, print them next to the reported numbers, and judge and record what they show."""
