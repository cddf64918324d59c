"""Print HTML with a browser, and read the text of the sheets of paper."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SIZES = ("letter", "A4")
needs_printing = pytest.mark.skipif(
    BROWSER is None or shutil.which("pdftotext") is None,
    reason="chromium and pdftotext, which print pages and read them, are not both on PATH",
)


def printed(html: str, folder: Path, size: str) -> list[str]:
    """Return the text of each sheet of paper that a page takes on paper of a size, without white space at line ends."""
    sized = html.replace("@page {", f"@page {{ size: {size};").replace("size: landscape", f"size: {size} landscape")
    page, pdf = folder / f"{size}.html", folder / f"{size}.pdf"
    page.write_text(sized, encoding="utf-8")
    assert BROWSER
    browser = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
    folders = [f"--user-data-dir={folder / 'browser'}", f"--print-to-pdf={pdf}", page.as_uri()]
    subprocess.run([*browser, *folders], capture_output=True, check=True, timeout=120)
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True).stdout
    return text.rstrip("\f").split("\f")
