"""The versions of Snakemake and of its Slurm plugin with which this workflow runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from packaging.specifiers import SpecifierSet

from retort.errors import RetortError

# The oldest and the newest of each are tested (tests/workflow/test_versions.py). Snakemake before 9.26 tells of each
# failed job twice; the plugin before 2.8 does not tell when a job starts.
BOUNDS = {"snakemake": ">=9.26,<9.28", "snakemake-executor-plugin-slurm": ">=2.8,<2.9"}


def check_versions() -> None:
    """Check that the installed versions are within the bounds; a package that is not installed is not used.

    Raises:
        RetortError: one is not.
    """
    for name, bounds in BOUNDS.items():
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if not SpecifierSet(bounds).contains(installed, prereleases=True):
            hint = f"install another version: pip install '{name}{bounds}'"
            raise RetortError(f"{name} {installed} is installed, and this workflow needs {name}{bounds}", hint)
