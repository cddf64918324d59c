"""Fetching of sources: a package, a hub repository or a folder of the user becomes one folder of files."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from retort.data.sources import hub
from retort.errors import RetortError
from retort.plan import resolve_data
from retort.settings.folder_digests import files_in
from retort.settings.inputs import FetchSettings
from retort.specs.base import path_of_user
from retort.specs.config import read_config
from retort.specs.source import FirstRows, Folder, HubRepository, Package
from retort.study.load import open_study
from retort.study.study import Study


def fetch(source: FetchSettings, output: Path, state: Path) -> int:
    """Fetch the files of a source into a folder and return how many there are.

    Args:
        source: the settings of the source, which say where its files are.
        output: the folder to fill; it is empty or does not exist.
        state: the folder where an interrupted download leaves its files for the next one.

    Raises:
        RetortError: the files cannot be fetched, or are not those that the source names.
    """
    output.mkdir(parents=True, exist_ok=True)
    match source:
        case Package():
            from retort.data.sources import packages  # its libraries take longer to import than a plan to make

            return packages.fetch(source, output, state)
        case HubRepository(first=FirstRows() as first):
            return hub.fetch_first(source.hub, first, output)
        case HubRepository():
            return hub.fetch(source.hub, output, state)
        case Folder():
            return _link_all(source, output)
    raise TypeError(f"{type(source).__name__} is fetched from nowhere")


def _link_all(source: Folder, output: Path) -> int:
    """Link the files of the user's folder; linking has nothing to resume.

    Raises:
        RetortError: the folder is missing or empty.
    """
    folder = path_of_user(source.path)
    if not folder.is_dir():
        raise RetortError(f"source folder {source.path} does not exist", "paths count from the working directory")
    count = link(folder, output)
    if not count:
        raise RetortError(f"source folder {source.path} is empty")
    return count


def link(folder: Path, output: Path) -> int:
    """Mirror a folder in `output`, with real folders and one symbolic link per file; return the number of links.

    With real folders, Snakemake writes its timestamp in `output`, deleting `output` deletes only links, and every file
    has a checksum. Names that begin with a dot are left out.

    Raises:
        RetortError: the folder holds a broken link, or something that cannot be read as a file.
    """
    count = 0
    for name, path in files_in(folder):
        if not path.is_file():
            what = "a link that leads nowhere" if path.is_symlink() else "nothing that can be read"
            raise RetortError(f"'{name}' in the folder of the source is {what}", "correct it, or take it away")
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).symlink_to(path.absolute())
        count += 1
    return count


def link_again(source: Folder, output: Path) -> None:
    """Link each file of a folder again that a link seeks elsewhere: the folder was moved."""
    folder = path_of_user(source.path).absolute()
    for path in [path for path in output.rglob("*") if path.is_symlink()]:
        file = folder / path.relative_to(output)
        if path.readlink() != file and file.is_file():
            path.unlink()
            path.symlink_to(file)


def link_moved_folders(study: Study) -> None:
    """Renew the links to the files of each user's folder that was moved since it was fetched."""
    for name in study.sources:
        output = Path(f"results/sources/{name}")
        if output.is_dir() and isinstance(source := resolve_data.fetched(study, name), Folder):
            link_again(source, output)


def location_of(config: dict[str, object], source: str) -> FetchSettings:
    """Return what is needed to fetch a source: no setting of a result, so moved files are not fetched again.

    Args:
        config: the configuration.
        source: the name of the source.
    """
    return resolve_data.fetched(_study(json.dumps(config, sort_keys=True, default=str)), source)


@functools.lru_cache(maxsize=1)
def _study(config: str) -> Study:
    """Return the study of a configuration, read once: a rehearsal makes all of its sources in one process."""
    return open_study(read_config(json.loads(config)))
