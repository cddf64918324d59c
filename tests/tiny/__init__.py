"""A made-up study on which the whole workflow runs in a minute or two."""
