"""The released evaluation set of CTRLEval: controlled texts rated by people (Ke et al. 2022, section 4.1).

`root` is the folder that holds `ctrleval/`, or this folder itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from core.example import Example
from core.faults import SettingFault, fault, format_value, read_all
from core.settings import Several, check, one_of
from data.corpus import HELD_OUT_FRACTION, Corpus, split_share
from data.download import require_file
from data.numeric import parse_number
from data.records import String, Text, check_records, layout, require_none
from data.sets.attributes import SENTIMENTS, SETS, TEXT, TOPICS, load_labelled
from data.sets.public import load_roc_plain
from data.text_files import iterate_lines
from meta_eval.scored_set import ScoredSet

Part = Literal["sentiment", "topic"]
IWF = "ctrleval/iwf_full.txt"
PARTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sentiment": ("ctrleval/data_senti.txt", SENTIMENTS),
    "topic": ("ctrleval/data_topic.txt", TOPICS),
}
ASPECTS = ("coherence", "consistency", "attribute_relevance")
COLUMNS = ("label", "prefix", "text", *ASPECTS)
PLAIN: Mapping[str, Callable[..., Sequence[Example]]] = {
    "roc_stories": load_roc_plain,
    **{name: partial(load_labelled, name=name) for name in SETS},
}
Score = Annotated[float, BeforeValidator(parse_number), Field(ge=1, le=5)]
MODELS = 4


def ctrleval(
    root: Path | str,
    part: Part,
    download: bool = False,
    assume_system_order: bool = False,
    attributes: Path | str | None = None,
    sets: Sequence[str] | None = None,
    plain: Sequence[str] | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Texts rated by people (CTRLEval, Tables 3-4); if asked for, labelled texts to train a discriminator on.

    Args:
        part: "sentiment" (360 texts) or "topic" (960).
        download: see `data.sets`; the released IWF table is fetched when it is needed.
        assume_system_order: see `load_ctrleval`.
        attributes: the folder that holds `attributes/`; None reads no training texts.
        sets: which sets of it (`data.sets.attributes.SETS`); None for all that have the labels of this part.
        plain: further training texts of `root`, without their labels: names in `PLAIN`; None for none.
    """
    labels = _labels(part)
    known = [name for name, each in SETS.items() if each == labels]
    names = known if sets is None else list(sets)
    check(Several[one_of(known)], sets=names)
    check(Several[one_of(list(PLAIN))] | None, plain=plain)
    readers = [partial(load_labelled, attributes, name, download) for name in names] if attributes is not None else []
    readers += [partial(_load_plain, root, name, download) for name in plain or ()]
    rated, *found = read_all([partial(load_ctrleval, root, part, download, assume_system_order), *readers])
    texts = [example for each in found for example in each]
    released = partial(require_file, root, IWF, download)
    return Corpus(
        rated.name, *split_share(texts, TEXT, held_out_fraction, seed), (rated,), synthetic=False, iwf=released
    )


def load_ctrleval(root: Path | str, part: Part, download: bool = False, assume_system_order: bool = False) -> ScoredSet:
    """Texts with the prefix and the label that their model was given, each rated 1 to 5, the mean of five people.

    Ids `ctrleval-sentiment-000` and on, by row. `group` names the label and the prefix; twelve texts answer each.

    The files do not say which of four models (CTRL, PPLM, GeDi, CoCon) wrote a text. With `assume_system_order`,
    `system` is "model 1" to "model 4" in turn; each group is twelve consecutive rows. This is an assumption: in the
    sentiment part, ratings of coherence and the share of texts with digits differ by row modulo 4 far beyond chance (p
    below 1e-9), and not by blocks of three rows (p above 0.1). Which model is which is not known.

    Raises InputFaults with all faults of the file: a row without a column, an unknown label, a text that does not begin
    with its prefix, a rating that is no number from 1 to 5.
    """
    labels = _labels(part)
    path = require_file(root, PARTS[part][0], download)
    faults: list[str] = []
    lines = ((line, content.rstrip("\r").split("\t")) for line, content in iterate_lines(path, faults))
    located: Any = ((line, dict(zip(COLUMNS, cells, strict=False))) for line, cells in lines)
    kind = layout({"label": one_of(labels), "prefix": Text, "text": String, **dict.fromkeys(ASPECTS, Score)})
    rows = [(line, row.model_dump()) for line, row in check_records(path, located, kind, faults)]
    for line, row in rows:
        row["group"] = f"{row['label']}: {row['prefix']}"
        if not row["text"].startswith(row["prefix"]):
            rule = f"a text must begin with its prefix {format_value(row['prefix'])}"
            faults.append(fault(path, line, f"{rule}, found {format_value(row['text'])}"))
    examples = [
        Example(
            f"ctrleval-{part}-{i:03d}",
            **{name: row[name] for name in ("label", "prefix", "text", "group")},
            system=f"model {i % MODELS + 1}" if assume_system_order else None,
            ratings={aspect: row[aspect] for aspect in ASPECTS},
        )
        for i, (_, row) in enumerate(rows)
    ]
    return ScoredSet(f"ctrleval_{part}", require_none(examples, faults))


def _load_plain(root: Path | str, name: str, download: bool) -> list[Example]:
    return [replace(example, label=None, group=None) for example in PLAIN[name](root, download=download)]


def _labels(part: str) -> tuple[str, ...]:
    if part not in PARTS:
        raise SettingFault(f"the part of the CTRLEval set is sentiment or topic, but is {part!r}; set data.part")
    return PARTS[part][1]
