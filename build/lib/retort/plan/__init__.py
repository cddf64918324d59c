"""What runs: jobs with their settings, inputs of the rules, submissions, pages, the guard between scales."""
