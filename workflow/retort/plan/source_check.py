"""The source check: can every source be fetched? It runs before the first job of a run, and not in a dry run."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from retort.data import hub
from retort.errors import RetortError
from retort.specs.source import FolderSource, HubSource
from retort.study.required_sources import lacking
from retort.study.study import Study


def _folder(source: FolderSource) -> str:
    """Return what is wrong with the source's folder; '' if it holds files."""
    folder = Path(source.path).expanduser()
    if folder.is_dir() and any(folder.iterdir()):
        return ""
    return f"path: {source.path} is {'empty' if folder.is_dir() else 'no folder'}; put the files there"


def _commit(source: HubSource) -> str:
    """Return what is wrong with the source's commit on the hub; '' if the hub has all its files."""
    if not source.hub.commit or importlib.util.find_spec("huggingface_hub") is None:
        return ""  # the hub's client is not installed here: the job itself will find out
    try:
        hub.listing(source.hub)
    except RetortError as error:
        return f"hub: {error}"
    return ""


def _asked(study: Study, name: str) -> str:
    source = study.sources[name].in_use(study.config)
    if isinstance(source, FolderSource) and source == study.sources[name]:
        return _folder(source)
    return _commit(source) if isinstance(source, HubSource) else ""


def check_sources_available(study: Study, names: Iterable[str]) -> None:
    """Raise an error if a source cannot be fetched: its folder is missing or empty, or the hub cannot give its files.

    Args:
        study: the study.
        names: the sources that will be fetched; packages are not checked.

    Raises:
        RetortError: has one line for each such source: its file, what is missing and what would help.
    """
    ordered = sorted(names)
    with ThreadPoolExecutor(max_workers=8) as pool:
        reasons = list(pool.map(lambda name: _asked(study, name), ordered))
    files = {name: study.files["sources", name].relative_to(study.folder.parent) for name in ordered}
    lines = lacking(study, ordered) + [
        f"{files[name]}: {line}" for name, line in zip(ordered, reasons, strict=True) if line
    ]
    if lines:
        count = f"{len(lines)} source{'s' * (len(lines) != 1)}"
        raise RetortError(f"{count} cannot be had, so nothing was run:" + "".join(f"\n  {line}" for line in lines))
