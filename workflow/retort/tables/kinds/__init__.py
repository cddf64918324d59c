"""The kinds of tables, one file a kind, which `retort.specs.exhibit` finds.

A new kind is a new file: a class with `@table_kind`, a base `Table`, and a field `kind: Literal["<name>"]`. Its other
fields are the keys of the YAML file. `collect` returns its frame, and `lay_out` makes a reported table of it. What else
a kind may say of itself are the methods of `Answers`; what follows from them is in `retort.specs.exhibit`.
"""
