"""Values of JSON in files of data, read strictly: Python keeps the last of two equal keys, and half a character."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from retort.data.files import open_text
from retort.errors import RetortError

_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # how JSON escapes each half of a character beyond 16 bits


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of these keys and values.

    Raises:
        RetortError: a key is given twice.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RetortError(f"'{twice}' is given twice", "leave one of the two out")
    return values


def read_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        json.JSONDecodeError: it is no JSON.
        RetortError: it is nested too deep, an object gives a key twice, a number has thousands of digits, or a text
            holds half a character, which has no place in UTF-8.
    """
    try:
        value = json.loads(text, object_pairs_hook=_each_key_once)
    except RecursionError:
        raise RetortError("lists or objects are nested too deep", "is it the right file?") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise RetortError("a number has thousands of digits", "is it the right file?") from None
    if _HALF.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise RetortError(f"{half} is half a character", "write both halves, or neither") from None
    return value


def check_json(path: Path, encoding: str) -> None:
    """Check a JSON file before a library reads it: a list or an object, or an object a line; plain or gzip.

    The library keeps one of two equal keys, and ends the process where objects are nested too deep. A file that is no
    JSON is left to it: it says what is wrong.

    Raises:
        RetortError: the file holds what `read_json` refuses.
    """
    try:
        with open_text(path, encoding) as stream:
            text = stream.read()
    except (OSError, EOFError, zlib.error, UnicodeError, LookupError):
        return
    by_line = [_is_json(f"{path.name}:{number}", line) for number, line in enumerate(text.split("\n"), start=1)]
    if not all(by_line):
        _is_json(path.name, text)


def _is_json(place: str, text: str) -> bool:
    """Return whether a text is JSON.

    Raises:
        RetortError: `read_json` refuses it; the message begins with its place.
    """
    try:
        read_json(text)
    except json.JSONDecodeError:
        return False
    except RetortError as error:
        raise RetortError(f"{place}: {error}") from None
    return True
