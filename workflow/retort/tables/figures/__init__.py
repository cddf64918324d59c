"""The kinds of figures, one file a kind, which `retort.specs.exhibit` finds.

A new kind is a new file: a class with `@figure_kind`, a base `Figure`, and a field `kind: Literal["<name>"]`. Its other
fields are the keys of the YAML file. `cells` says which students it shows and what is measured of them. The
jobs that run, the checks of names and the frame follow from it (`retort.specs.exhibit`). `draw` draws that frame.
"""
