"""The kinds of tables, one file a kind; `retort.specs.exhibit` finds them."""
