"""What a sentence-transformers folder says of itself: pooling, normalisation, length, prompt.

Such a folder lists its steps in `modules.json`: the transformer, a pooling, and perhaps a
normalisation. Other steps, such as a further dense layer, are refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError

_POOLINGS = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
    "max": "max",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean-sqrt-length",
}
_PREFIX = "pooling_mode_"


@dataclass(frozen=True, slots=True)
class Declared:
    """The transformer's own folder, and what is said on how to use it."""

    folder: Path
    pooling: str = ""
    normalize: bool = False
    max_length: int = 0  # 0: the model's own limit
    lowercase: bool = False
    prompt: str = ""


def declared(folder: Path, *, pooled: bool) -> Declared:
    """What a folder declares; nothing for one that is not of sentence-transformers.

    Unless its own pooling is wanted, only its transformer counts, whatever the other steps are.
    """
    modules = read_json(folder / "modules.json")
    if modules is None:
        return Declared(folder)
    if not isinstance(modules, list) or not all(isinstance(each, dict) for each in modules):
        raise AdequaError(f"{folder / 'modules.json'} should hold a list of modules.")
    kinds = [str(each.get("type", "")).rpartition(".")[2] for each in modules]
    places = [folder / str(each.get("path", "")) for each in modules]
    if not pooled and kinds[:1] == ["Transformer"]:
        return _with_limits(Declared(places[0]))
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise AdequaError(
            f"{folder} is made of {', '.join(kinds) or 'nothing'}; only a Transformer, a Pooling "
            "and perhaps a Normalize after them are supported."
        )
    found = Declared(
        places[0], pooling=_declared_pooling(places[1]), normalize=kinds[-1] == "Normalize"
    )
    return replace(_with_limits(found), prompt=_default_prompt(folder, places[1]))


def read_json(path: Path) -> Any:
    """The content of a JSON file; None where there is no such file."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise AdequaError(f"{path} cannot be read as JSON: {error}.") from error


def _settings(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if found is not None and not isinstance(found, dict):
        raise AdequaError(f"{path} should hold settings by name.")
    return found or {}


def _declared_pooling(place: Path) -> str:
    settings = _settings(place / "config.json")
    chosen = settings.get("pooling_mode")
    names = [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(names, list):
        names = [
            key.removeprefix(_PREFIX)
            for key, value in settings.items()
            if key.startswith(_PREFIX) and value is True
        ]
    if len(names) != 1 or str(names[0]) not in _POOLINGS:
        raise AdequaError(
            f"{place / 'config.json'} asks for the pooling {' and '.join(map(str, names)) or '?'}, "
            "which is not supported; name another with pooling=mean or pooling=cls."
        )
    return _POOLINGS[str(names[0])]


def _with_limits(found: Declared) -> Declared:
    """What the settings of the transformer say; the name of their file has changed over time."""
    for path in sorted(found.folder.glob("sentence_*_config.json")):
        settings = _settings(path)
        length = settings.get("max_seq_length")
        return replace(
            found,
            max_length=length if isinstance(length, int) else 0,
            lowercase=settings.get("do_lower_case") is True,
        )
    return found


def _default_prompt(folder: Path, pooling: Path) -> str:
    """The words that the folder puts in front of every sentence, if any."""
    settings = _settings(folder / "config_sentence_transformers.json")
    name, prompts = settings.get("default_prompt_name"), settings.get("prompts")
    if name is None or not isinstance(prompts, dict):
        return ""
    prompt = prompts.get(name)
    if prompt and _settings(pooling / "config.json").get("include_prompt") is False:
        raise AdequaError(
            f"{folder} has a prompt that its pooling leaves out, which is not supported; name a "
            "pooling of your own, such as pooling=mean."
        )
    return prompt if isinstance(prompt, str) else ""
