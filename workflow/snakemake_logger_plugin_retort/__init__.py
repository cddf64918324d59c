"""The logger plugin of `snakemake --logger retort`; Snakemake finds logger plugins by the names of their modules."""

from retort.run.screen import LogHandler

__all__ = ["LogHandler"]
