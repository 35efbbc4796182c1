"""Fetching public data with a known checksum; what has none has to be placed by hand."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch

from data.by_hand import TEXT_LICENCES, TEXTS_BY_HAND

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 30.0  # without an answer or a further byte

DEAM = "https://raw.githubusercontent.com/PlusLabNLP/DEAM/3e01d63f81b17fd76ffabd899d82cc5b47d953f9"
CDM = "https://raw.githubusercontent.com/PlusLabNLP/CDM/b555ddf049409d142a19bf5289444ce244b5e36d"
TOPICAL_CHAT = "https://raw.githubusercontent.com/alexa/Topical-Chat/8a485f76337a40dfab842426caeaa94fd8212db4"
CTRLEVAL = "https://raw.githubusercontent.com/thu-coai/CTRLEval"
LAED = "https://raw.githubusercontent.com/snakeztc/NeuralDialog-LAED/7eea42ac3f88dd4db467222eda5469d63502ffb8"


@dataclass(frozen=True)
class Origin:
    """Where a file is published, what its bytes must be, and what may be done with it."""

    url: str
    sha256: str
    licence: str


# Only files whose original bytes were at hand to take the checksum from.
ORIGINS: Mapping[str, Origin] = {
    "fed/fed_test_coherence.txt": Origin(
        f"{DEAM}/data/fed/fed_test_coherence.txt",
        "03799ae6a76d986026df8e0905fea6fbc8a2c245687860ed93dc601c34d944af",
        "none stated by PlusLabNLP/DEAM: for research, not to be passed on",
    ),
    "ctrleval/data_senti.txt": Origin(
        f"{CTRLEVAL}/33639daedc376bd322f976f3feee5690a1de669e/data/data_senti.txt",
        "df5614b2fa7f199407b40613fcdb15b9061111718de7fcaa203a9a87af4ba382",
        "none stated by thu-coai/CTRLEval: for research, not to be passed on",
    ),
    "ctrleval/iwf_full.txt": Origin(
        f"{CTRLEVAL}/ba0b25fde064080a7ab93134c7e57f876aa0a6a7/iwf_full.txt",
        "d88a4385a6a8471ce62b318bde7fee07093093555705aa1b46f429f7a2067728",
        "none stated by thu-coai/CTRLEval: for research, not to be passed on",
    ),
    "fed/fed_test_overall.txt": Origin(
        f"{DEAM}/data/fed/fed_test_overall.txt",
        "2d8630328ad0b8d67e8e3213a708979a30cfac858b6bf819b87448b1b160fd11",
        "none stated by PlusLabNLP/DEAM: for research, not to be passed on",
    ),
}

_TOPICAL_CHAT_TEST = (
    'python -c \'import json, sys; [print("".join(m["message"].strip().replace("\\n", " ") + "</UTT>" '
    'for m in c["content"])) for f in sys.argv[1:] for c in json.load(open(f, encoding="utf-8")).values()]\' '
    "test_freq.json test_rare.json > topicalchat_test.txt"
)

# The rest: shell lines, to be run in the folder of the set, that put the file into the form its loader reads.
BY_HAND: Mapping[str, str] = {
    **TEXTS_BY_HAND,
    "fed/deam_scores.tsv": f"""\
curl -LO {DEAM}/coh_models/fed_test_overall_orig_preds.txt
(printf 'line\\tdeam_score\\n'; awk -F '</UTT>' '{{print (NR - 1) "\\t" $NF}}' fed_test_overall_orig_preds.txt) \
> deam_scores.tsv""",
    "dstc9/dstc9_test_coherence_averaged.txt": f"curl -LO {DEAM}/data/dstc9/dstc9_test_coherence_averaged.txt",
    "dstc9/dstc9_test_overall_averaged.txt": f"curl -LO {DEAM}/data/dstc9/dstc9_test_overall_averaged.txt",
    "dstc9/deam_scores.tsv": f"""\
curl -LO {DEAM}/coh_models/dstc9_test_coherence_orig_preds.txt
(printf 'orig_line\\tdeam_score\\n'; awk -F '</UTT>' '{{print (NR - 1) "\\t" $NF}}' \
dstc9_test_coherence_orig_preds.txt) > deam_scores.tsv""",
    "dialogue/topicalchat_valid.txt": f"""\
curl -LO {CDM}/data/dialogue/clean_valid.txt
sed -n '1,1078p' clean_valid.txt > topicalchat_valid.txt""",
    "dialogue/personachat_valid.txt": f"""\
curl -LO {CDM}/data/dialogue/clean_valid.txt
sed -n '1079,2078p' clean_valid.txt > personachat_valid.txt""",
    "dialogue/topicalchat_test.txt": f"""\
curl -LO {TOPICAL_CHAT}/conversations/test_freq.json
curl -LO {TOPICAL_CHAT}/conversations/test_rare.json
{_TOPICAL_CHAT_TEST}""",
    "dialogue/dailydialog_validation.txt": f"""\
curl -LO {LAED}/data/daily_dialog/validation/dialogues.txt
sed 's|[[:space:]]*__eou__[[:space:]]*|</UTT>|g' dialogues.txt > dailydialog_validation.txt""",
    "dialogue/dailydialog_test.txt": f"""\
curl -LO {LAED}/data/daily_dialog/test/dialogues.txt
sed 's|[[:space:]]*__eou__[[:space:]]*|</UTT>|g' dialogues.txt > dailydialog_test.txt""",
}

LICENCES: Mapping[str, str] = {
    **TEXT_LICENCES,
    "fed": "none stated: for research, not to be passed on",
    "dstc9": "none stated: for research, not to be passed on",
    "dialogue": "CDM: MIT; Topical-Chat: CDLA-Sharing 1.0; DailyDialog: CC BY-NC-SA 4.0, not for commercial use",
}


class DownloadFault(Exception):  # noqa: N818, named as InputFaults is
    """A file could not be fetched: its address, the cause, and what to do."""


def fetch(
    name: str, root: Path | str, origins: Mapping[str, Origin] = ORIGINS, timeout: float = TIMEOUT_SECONDS
) -> Path:
    """The file `root/name`, downloaded from its public origin if it is not there yet.

    It takes its name only when its checksum is right; after a failure nothing is left under that name. A progress bar
    is drawn on a terminal.

    Raises DownloadFault: no such origin, server down, an answer such as 404, a transfer cut off, a wrong checksum.
    """
    import requests  # slow to import, and of use only where something is fetched

    target = Path(root) / name
    if target.is_file():
        return target
    if name not in origins:
        raise DownloadFault(f"{name} has no origin with a known checksum.\n{how_to_place(name, root)}")
    origin = origins[name]
    downloader: Any = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=timeout)
    pooch.get_logger().setLevel("WARNING")  # this module's own line says the same
    log.info("fetching %s to %s (licence: %s)", origin.url, target, origin.licence)
    try:
        pooch.retrieve(
            origin.url, f"sha256:{origin.sha256}", fname=target.name, path=target.parent, downloader=downloader
        )
    except requests.exceptions.HTTPError as error:
        cause = f"the server answered {error}"
    except requests.exceptions.ConnectTimeout:
        cause = f"no answer within {timeout:g} s"
    except requests.exceptions.ConnectionError as error:
        cause = f"the server cannot be reached, or was lost on the way ({error})"
    except requests.exceptions.Timeout:
        cause = f"no further byte within {timeout:g} s"
    except requests.exceptions.ChunkedEncodingError as error:
        cause = f"the transfer was cut off ({error})"
    except requests.exceptions.RequestException as error:
        cause = str(error)
    except ValueError as error:  # pooch names both checksums
        cause = f"wrong checksum: {error}"
    else:
        return target
    raise DownloadFault(
        f"{origin.url} could not be fetched: {cause}.\n"
        f"Run again later with data.download=true, or place the file by hand at {target} and leave data.download out."
    )


def how_to_place(name: str, root: Path | str) -> str:
    """What a user can do to get `root/name`: a setting that fetches it, or the commands that place it by hand.

    >>> print(how_to_place("fed/fed_test_overall.txt", "sets"))
    Fetch it with data.download=true, or name the folder that holds fed/ with data.root=FOLDER.
    """
    folder = name.split("/")[0]
    if name in ORIGINS:
        return f"Fetch it with data.download=true, or name the folder that holds {folder}/ with data.root=FOLDER."
    place = Path(root) / folder
    return (
        f"Name the folder that holds {folder}/ with data.root=FOLDER, or place the file by hand (data.download=true "
        f"does not fetch it: no checksum of its original is known; licence: {LICENCES[folder]}):\n"
        f"mkdir -p {place} && cd {place}\n{BY_HAND[name]}"
    )
