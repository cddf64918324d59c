"""Tables of mistakes in YAML files, configurations and archives, each with the line that answers it."""
