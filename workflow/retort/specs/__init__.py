"""What is compared, as data: strict models of every YAML file, read without torch."""
