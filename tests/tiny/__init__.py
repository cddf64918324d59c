"""A made-up study that runs the whole workflow in a minute or two."""
