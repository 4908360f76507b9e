"""What is known of models: by the endpoint's own list, or by the tables that litellm ships. Runs in the worker.

Reading litellm's table is reading a file: litellm itself is not imported, and nothing is fetched.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import msgspec

from agentclip.model.base import ModelFacts
from agentclip.model.wire import clean

TABLE = "model_prices_and_context_window_backup.json"
WINDOW_KEYS = (
    "context_length",
    "context_window",
    "max_model_len",
    "max_context_length",
    "max_input_tokens",
    "n_ctx",
    "n_ctx_train",
)
"""OpenRouter and Together, Groq, vLLM, Mistral and LM Studio, Anthropic and gateways, llama.cpp."""
MAX_MODELS = 5000
MAX_NAME_CHARS = 200


class _Row(msgspec.Struct):
    max_input_tokens: object = None
    supports_vision: object = None


def read_models(answer: dict[str, object]) -> tuple[ModelFacts, ...]:
    """The models of `GET /models`, in the endpoint's order; whatever else it holds is passed over."""
    listed = answer.get("data") or answer.get("models")
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    facts = (_facts(row) for row in rows[:MAX_MODELS])
    return tuple(found for found in facts if found.name)


def table_facts(names: tuple[str, ...]) -> ModelFacts | None:
    """What litellm's table says of the first of the names that it knows; None for none."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        data = (Path(spec.submodule_search_locations[0]) / TABLE).read_bytes()
        table = msgspec.json.decode(data, type=dict[str, _Row])
    except (OSError, msgspec.DecodeError):
        return None
    found = next((name for name in names if name in table), None)
    if found is None:
        return None
    return ModelFacts(found, _tokens(table[found].max_input_tokens), table[found].supports_vision is True)


def _facts(row: dict[str, object]) -> ModelFacts:
    name = row.get("id") or row.get("name") or row.get("model")
    text = "".join(c for c in clean(name) if c.isprintable())[:MAX_NAME_CHARS] if isinstance(name, str) else ""
    inner = [row, *(value for key in ("meta", "top_provider") if isinstance(value := row.get(key), dict))]
    windows = [tokens for table in inner for key in WINDOW_KEYS if (tokens := _tokens(table.get(key))) is not None]
    architecture = row.get("architecture")
    kinds = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    return ModelFacts(text, windows[0] if windows else None, "image" in kinds if isinstance(kinds, list) else None)


def _tokens(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value < 2**53 else None
