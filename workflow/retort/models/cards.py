"""The model card that goes with saved weights."""

from __future__ import annotations

import json

from retort.provenance import stamp
from retort.settings import Settings


def card(title: str, settings: Settings, device: str) -> str:
    """Return a README.md in the format of model hubs: what the model is, how it was made and what it is not for."""
    origin = stamp(device, 1)
    return f"""---
library_name: transformers
tags: [retort, distillation]
---

# {title}

Made by `retort` at commit `{origin["commit"]}` on {origin["device"]}.

Load it with `transformers.AutoModel.from_pretrained(folder)` and `transformers.AutoTokenizer.from_pretrained(folder)`.

It is one measurement of a study that compares ways of distillation. It was trained briefly and for that comparison
alone: expect a baseline, not a product. Its licence follows those of the model and the data named below.

## Settings

```json
{json.dumps(settings.as_json(), indent=1)}
```
"""
