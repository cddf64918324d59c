"""Run the command line as `python -m retort`."""

from retort.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
