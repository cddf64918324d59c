"""The specs of sources: a package of the package index, a commit of the Hugging Face hub, or a folder.

A hub source may name the folder of the same data in `data_dir` (for models: `models_dir`). If that folder is there, it
is used; if not, the files are downloaded from the hub.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, StringConstraints, Tag

from retort.registry import nearest_name
from retort.specs.base import Distinct, Label, Name, Relative, SourceName, Spec, Text, Whole, left_out, path_of_user
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
    """The archive of a package, and the folder in it that is kept, as data: nothing of it is built or installed.

    Args:
        package: its name in the index.
        version: exact.
        distribution: which of its archives.
        sha256: of the archive.
        folder: the folder inside the archive that is kept.
        inner: a .tar.gz inside the archive that holds the folder.
    """

    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.]*$")]
    distribution: Literal["wheel", "sdist"]
    sha256: Sha256
    folder: Relative
    inner: Relative | None = None


class PackageSource(InOnePlace, Package):
    """A package of the package index, with its title and licence.

    Args:
        title: what it is, in one line.
        licence: of the data.
    """

    where: ClassVar[str] = "package"

    title: Label
    licence: Text

    @property
    def fetched(self) -> Package:
        """What is fetched, without title and licence."""
        return Package(**self.model_dump(include=set(Package.model_fields)))

    def place(self, config: Config) -> str:
        """Return where the files come from, in words."""
        return f"{self.package} {self.version} of the package index"


class Folder(Spec):
    """A folder of the user; its path is relative to the working directory.

    Args:
        path: relative to the working directory.
    """

    path: Label


class FolderSource(InOnePlace, Folder):
    """A folder of the user, with its title and licence.

    Args:
        title: what it is, in one line.
        licence: of the data.
    """

    where: ClassVar[str] = "folder"

    title: Label
    licence: Text = "as the owner of the folder says"

    @property
    def fetched(self) -> Folder:
        """What is linked, without title and licence."""
        return Folder(path=self.path)

    def place(self, config: Config) -> str:
        """Return where the files come from, in words."""
        return f"folder {self.path}"


class HubFiles(Spec):
    """Files of a repository of the Hugging Face hub at one commit.

    Args:
        repository: owner/name.
        repo_type: what the repository holds.
        commit: none until `retort pin` has written one.
        files: patterns of the files that are fetched.
    """

    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")]
    repo_type: Literal["dataset", "model"]
    commit: Commit | None = None
    files: Distinct[Relative] = Field(min_length=1)


class Hub(HubFiles):
    """Files of the hub, with the branch and the origin of their commit.

    Args:
        branch: what `retort pin` asks the hub for.
        found: where the commit was read.
    """

    branch: Text = "main"
    found: Text | None = None


class Size(Spec):
    """The size of a source's texts, from which costs are predicted before the texts are read.

    Args:
        words: as spaces separate them.
        origin: who counted them, or how the number was computed.
    """

    words: Whole = Field(gt=0, le=10**15)
    origin: Text


class FirstRows(Spec):
    """The first rows of Parquet files, until their texts have so many characters.

    Args:
        files: patterns of the files, read in the order of their names.
        column: that holds the texts.
        characters: after which reading stops.
    """

    files: list[Relative] = Field(min_length=1)
    column: Text
    characters: Whole = Field(gt=0)


class HubRepository(Spec):
    """What is fetched of a source on the hub: its files, or only the first rows of some."""

    hub: HubFiles
    first: FirstRows | None = left_out()


SETTING = {"dataset": "data_dir", "model": "models_dir"}  # the key of config.yaml for the directory of local folders


class HubSource(Spec):
    """A repository of the hub, or a local folder that holds the same data in its original format.

    Args:
        title: what it is, in one line.
        licence: of the data.
        hub: files of the Hugging Face hub.
        local: its folder in data_dir (models: models_dir).
        size: of its texts, as far as it is known before they are read.
    """

    title: Label
    licence: Text
    hub: Hub
    local: Relative | None = None
    size: Size | None = None

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
        return path_of_user(top) / self.local if self.local and top else None

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
    found = exact or [near for near in (nearest_name(key, TAGS) for key in keys) if near]
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

# The file of a task or model may hold a source in place of its name. It is entered under the name of the file before
# the file is validated.
NamedSource = Annotated[
    SourceName,
    BeforeValidator(lambda name: name, json_schema_input_type=Name | PackageSource | FolderSource | HubSource),
]
