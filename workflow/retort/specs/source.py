"""The specs of sources: a package of the package index, a commit of the Hugging Face hub, or a folder.

A hub source may name the folder of the same data in `data_dir` (for models: `models_dir`). If that folder is there, it
is used; if not, the files are downloaded from the hub.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from retort.registry import nearest
from retort.specs.base import Distinct, Label, Relative, Spec, Text, Whole
from retort.specs.config import Config

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]


class InOnePlace:
    """What sources answer whose files are in one place, whatever the configuration."""

    where: ClassVar[str]

    def location(self, config: Config) -> str:
        """Return where the files are: always `where`."""
        return self.where

    def in_use(self, config: Config) -> Self:
        """Return the source that files are taken from: always this one."""
        return self


class Package(Spec):
    """The archive of a package, and the folder in it that is kept, as data: nothing of it is built or installed."""

    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        description="its name in the index"
    )
    version: Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.]*$")] = Field(description="exact")
    distribution: Literal["wheel", "sdist"] = Field(description="which of its archives")
    sha256: Sha256 = Field(description="of the archive")
    folder: Relative = Field(description="the folder inside the archive that is kept")
    inner: Relative | None = Field(default=None, description="a .tar.gz inside the archive that holds the folder")


class PackageSource(InOnePlace, Package):
    """A package of the package index, with its title and licence."""

    where: ClassVar[str] = "package"

    title: Label = Field(description="what it is, in one line")
    licence: Text = Field(description="of the data")

    @property
    def fetched(self) -> Package:
        """What is fetched, without title and licence."""
        return Package(**self.model_dump(include=set(Package.model_fields)))

    def place(self, config: Config) -> str:
        """Return where the files come from, in words."""
        return f"{self.package} {self.version} of the package index"


class Folder(Spec):
    """A folder of the user; its path is relative to the working directory."""

    path: Label = Field(description="relative to the working directory")


class FolderSource(InOnePlace, Folder):
    """A folder of the user, with its title and licence."""

    where: ClassVar[str] = "folder"

    title: Label = Field(description="what it is, in one line")
    licence: Text = Field(default="as the owner of the folder says", description="of the data")

    @property
    def fetched(self) -> Folder:
        """What is linked, without title and licence."""
        return Folder(path=self.path)

    def place(self, config: Config) -> str:
        """Return where the files come from, in words."""
        return f"folder {self.path}"


class HubFiles(Spec):
    """Files of a repository of the Hugging Face hub at one commit."""

    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")] = Field(
        description="owner/name"
    )
    repo_type: Literal["dataset", "model"] = Field(description="what the repository holds")
    commit: Commit | None = Field(default=None, description="none until `retort pin` has written one")
    files: Distinct[Relative] = Field(min_length=1, description="patterns of the files that are fetched")


class Hub(HubFiles):
    """Files of the hub, with the branch and the origin of their commit."""

    branch: Text = Field(default="main", description="what `retort pin` asks the hub for")
    found: Text | None = Field(default=None, description="where the commit was read")

    @model_validator(mode="after")
    def _found(self) -> Hub:
        if self.commit and not self.found:
            raise ValueError("'found' is missing: say where the commit was read")
        return self


class Size(Spec):
    """The size of a source's texts, from which costs are predicted before the texts are read."""

    words: Whole = Field(gt=0, le=10**15, description="as spaces separate them")
    origin: Text = Field(description="who counted them, or how the number was computed")


class FirstRows(Spec):
    """The first rows of Parquet files, until their texts have so many characters."""

    files: list[Relative] = Field(min_length=1, description="patterns of the files, read in the order of their names")
    column: Text = Field(description="that holds the texts")
    characters: Whole = Field(gt=0, description="after which reading stops")


class HubRepository(Spec):
    """What is fetched of a source on the hub: its files, or only the first rows of some."""

    hub: HubFiles
    first: FirstRows | None = Field(default=None, exclude_if=lambda first: first is None)


SETTING = {"dataset": "data_dir", "model": "models_dir"}  # the key of config.yaml for the directory of local folders


class HubSource(Spec):
    """A repository of the hub, or a local folder that holds the same data in its original format."""

    title: Label = Field(description="what it is, in one line")
    licence: Text = Field(description="of the data")
    hub: Hub = Field(description="files of the Hugging Face hub")
    local: Relative | None = Field(default=None, description="its folder in data_dir (models: models_dir)")
    size: Size | None = Field(default=None, description="of its texts, as far as it is known before they are read")

    @property
    def fetched(self) -> HubRepository:
        """What is fetched, without title, licence, branch and the origin of the commit."""
        return HubRepository(hub=HubFiles(**self.hub.model_dump(include=set(HubFiles.model_fields))))

    @property
    def setting(self) -> str:
        """The key of config.yaml for the directory that may hold its folder."""
        return SETTING[self.hub.repo_type]

    def folder(self, config: Config) -> Path | None:
        """Return where its local folder would be; None if it has none, or config.yaml gives no directory."""
        top = getattr(config, self.setting)
        return Path(top).expanduser() / self.local if self.local and top else None

    def location(self, config: Config) -> str:
        """Return where the files are under a configuration: 'local' if its local folder is there, else 'hub'."""
        folder = self.folder(config)
        return "local" if folder and config.holds(folder) else "hub"

    def in_use(self, config: Config) -> HubSource | FolderSource:
        """Return the source that files are taken from under a configuration: the local folder if it is there."""
        folder = self.folder(config)
        if folder is None or not config.holds(folder):
            return self
        return FolderSource(title=self.title, licence=self.licence, path=str(folder))

    def place(self, config: Config) -> str:
        """Return where the files come from, in words."""
        if self.location(config) == "local":
            return f"folder {self.folder(config)}"
        commit = self.hub.commit or f"a commit of {self.hub.branch} that a run asks for"
        return f"{self.hub.repository} of the hub at {commit}"

    def at(self, commit: str) -> HubSource:
        """Return the source at a commit that a run asked the hub for."""
        hub = self.hub.model_copy(update={"commit": commit, "found": f"answered by the hub for {self.hub.branch}"})
        return self.model_copy(update={"hub": hub})


TAGS = {"path": "folder", "hub": "from-hub", "package": "from-package"}  # the key that tells what a source is


def _tag(content: Any) -> str | None:
    """Return the type of source that a mapping describes, by the key that only this type has, or a key spelt like it.

    Return None if it has no such key, or several, or is no mapping.
    """
    if not isinstance(content, dict | Spec):
        return None
    keys = [str(key) for key in (content if isinstance(content, dict) else vars(content))]
    exact = [key for key in TAGS if key in keys]
    found = exact or [near for near in (nearest(key, TAGS) for key in keys) if near]
    return TAGS[found[0]] if found and len(exact) < 2 else None


Source = Annotated[
    Annotated[PackageSource, Tag("from-package")]
    | Annotated[FolderSource, Tag("folder")]
    | Annotated[HubSource, Tag("from-hub")],
    Discriminator(
        _tag,
        custom_error_type="no_source",
        custom_error_message="where the files come from is not clear; give one of the keys 'path', 'hub' and 'package'",
    ),
]
