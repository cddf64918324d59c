"""The kinds of figures, one file a kind; `retort.specs.exhibit` finds them."""
