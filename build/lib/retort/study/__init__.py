"""The study: all YAML files opened, checked against each other, scaled; and questions about them."""
