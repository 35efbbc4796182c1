"""Where the files of public sets are published: pinned addresses, checksums where they are known, and licences."""

from collections.abc import Mapping
from dataclasses import dataclass

RAW = "https://raw.githubusercontent.com"
ALPS = f"{RAW}/forest-snow/alps/43232f234087cdbb4b06cd0e3997460610a0dbfd/data"
BART_SCORE = f"{RAW}/neulab/BARTScore/40c658fb5c8686cfef852bb73777439beb7d44ef"
CDM = f"{RAW}/PlusLabNLP/CDM/b555ddf049409d142a19bf5289444ce244b5e36d/data/dialogue"
COMMONGEN = f"{RAW}/INK-USC/CommonGen/f5a4d0140876cf862cb41ffc9aefa834d0d6d0f7/dataset/final_data/commongen"
CTRLEVAL = f"{RAW}/thu-coai/CTRLEval"
DEAM = f"{RAW}/PlusLabNLP/DEAM/3e01d63f81b17fd76ffabd899d82cc5b47d953f9"
KPQA = f"{RAW}/hwanheelee1993/KPQA/064063cac451f1d7cb535d31a16a9db1854c8ad0/data/human_eval"
LAED = f"{RAW}/snakeztc/NeuralDialog-LAED/7eea42ac3f88dd4db467222eda5469d63502ffb8/data/daily_dialog"
MANS = f"{RAW}/Boran-lucas/NLP_project/HEAD/data/mans_data"  # a copy whose commit is not known
MOCHA = f"{RAW}/anthonywchen/mocha-leaderboard-data/f5b1c88fd6caf4a4b302adc4dba906982f179a61/data/tmp"
NEWSGROUPS = "https://codeload.github.com/vaishnavivisweswaraiah/IR_TextMining/tar.gz/HEAD"
POETRY = f"{RAW}/chinese-poetry/chinese-poetry/44ce55cd3c1c42298be4551e22a1179e6563eb06/%E5%AE%8B%E8%AF%8D"
RT_POLARITY = f"{RAW}/dennybritz/cnn-text-classification-tf/a0d0e9742b3dc42194955e78858f7be93027c75e/data"
SONGNET = f"{RAW}/lipiji/SongNet/f5305c5f7de7c6fb0d288d216fabf32de7d191c2/data"
TRINITY = f"{RAW}/PlusLabNLP/CDM/b555ddf049409d142a19bf5289444ce244b5e36d/data/commongen-trinity"
TOPICAL_CHAT = f"{RAW}/alexa/Topical-Chat/8a485f76337a40dfab842426caeaa94fd8212db4/conversations"
UNION = f"{RAW}/thu-coai/UNION/f675d7bb57454b70bdaf1e62f45834f08e80d613/Data/ROCStories/ant_data"


@dataclass(frozen=True)
class Origin:
    """Where a file is published, and the checksum of its bytes."""

    url: str
    sha256: str


# Files with a checksum that was taken from their original bytes: they can be fetched.
ORIGINS: Mapping[str, Origin] = {
    "fed/fed_test_coherence.txt": Origin(
        f"{DEAM}/data/fed/fed_test_coherence.txt",
        "03799ae6a76d986026df8e0905fea6fbc8a2c245687860ed93dc601c34d944af",
    ),
    "fed/fed_test_overall.txt": Origin(
        f"{DEAM}/data/fed/fed_test_overall.txt",
        "2d8630328ad0b8d67e8e3213a708979a30cfac858b6bf819b87448b1b160fd11",
    ),
    "ctrleval/data_senti.txt": Origin(
        f"{CTRLEVAL}/33639daedc376bd322f976f3feee5690a1de669e/data/data_senti.txt",
        "df5614b2fa7f199407b40613fcdb15b9061111718de7fcaa203a9a87af4ba382",
    ),
    "ctrleval/iwf_full.txt": Origin(
        f"{CTRLEVAL}/ba0b25fde064080a7ab93134c7e57f876aa0a6a7/iwf_full.txt",
        "d88a4385a6a8471ce62b318bde7fee07093093555705aa1b46f429f7a2067728",
    ),
}

KINDS = ("index", "src_alpha", "tgt")  # of the files of CommonGen
LEVELS, JUDGES = ("", "_med", "_bad"), ("", "_t5", "_vicuna")  # of the files of CommonGen-trinity

# Users place the other files by hand. Each file has its originals, by the name to save them under. If the file is not
# among these, `python -m data.prepare` makes it from them.
ORIGINALS: Mapping[str, Mapping[str, str]] = {
    "attributes/sentiment_rt_polarity.jsonl": {
        "rt-polarity.pos": f"{RT_POLARITY}/rt-polaritydata/rt-polarity.pos",
        "rt-polarity.neg": f"{RT_POLARITY}/rt-polaritydata/rt-polarity.neg",
    },
    "attributes/sentiment_sst2_dev.jsonl": {"test.tsv": f"{ALPS}/SST-2/test.tsv"},
    "attributes/topic_ag_news.jsonl": {"dev.tsv": f"{ALPS}/agnews/dev.tsv"},
    "attributes/topic_newsgroups.jsonl": {"newsgroups.tar.gz": NEWSGROUPS},
    **{
        f"commongen_train/{part}.jsonl": {
            name: f"{COMMONGEN}/{name}" for name in (f"commongen.{part}.{kind}.txt" for kind in KINDS)
        }
        for part in ("dev", "train")
    },
    "commongen_trinity/trinity.jsonl": {
        "commongen_keys.txt": f"{TRINITY}/commongen_keys.txt",
        **{
            name: f"{TRINITY}/annotated/{name}"
            for name in (f"commongen_test{level}{judge}.txt" for level in LEVELS for judge in JUDGES)
        },
    },
    "ctrleval/data_topic.txt": {
        "data_topic.txt": f"{CTRLEVAL}/33639daedc376bd322f976f3feee5690a1de669e/data/data_topic.txt"
    },
    "dialogue/dailydialog_test.txt": {"dialogues_test.txt": f"{LAED}/test/dialogues.txt"},
    "dialogue/dailydialog_validation.txt": {"dialogues_validation.txt": f"{LAED}/validation/dialogues.txt"},
    "dialogue/personachat_valid.txt": {"clean_valid.txt": f"{CDM}/clean_valid.txt"},
    "dialogue/topicalchat_test.txt": {
        "test_freq.json": f"{TOPICAL_CHAT}/test_freq.json",
        "test_rare.json": f"{TOPICAL_CHAT}/test_rare.json",
    },
    "dialogue/topicalchat_valid.txt": {"clean_valid.txt": f"{CDM}/clean_valid.txt"},
    "dstc9/deam_scores.tsv": {
        "dstc9_test_coherence_orig_preds.txt": f"{DEAM}/coh_models/dstc9_test_coherence_orig_preds.txt"
    },
    "dstc9/dstc9_test_coherence_averaged.txt": {
        "dstc9_test_coherence_averaged.txt": f"{DEAM}/data/dstc9/dstc9_test_coherence_averaged.txt"
    },
    "dstc9/dstc9_test_overall_averaged.txt": {
        "dstc9_test_overall_averaged.txt": f"{DEAM}/data/dstc9/dstc9_test_overall_averaged.txt"
    },
    "fed/deam_scores.tsv": {"fed_test_overall_orig_preds.txt": f"{DEAM}/coh_models/fed_test_overall_orig_preds.txt"},
    "newsroom/newsroom.jsonl": {"data.pkl": f"{BART_SCORE}/SUM/Newsroom/data.pkl"},
    "qa_ratings/avsd.jsonl": {"avsd_all.csv": f"{KPQA}/avsd_all.csv"},
    "qa_ratings/msmarco.jsonl": {"marco_all.csv": f"{KPQA}/marco_all.csv"},
    "qa_ratings/narrativeqa_mhpg.jsonl": {"nrqa_mhpgm.csv": f"{KPQA}/nrqa_mhpgm.csv"},
    "qa_ratings/semeval_mhpg.jsonl": {
        "semeval_mhpgm.csv": f"{KPQA}/semeval_mhpgm.csv",
        "mcscript_dev_questions.jsonl": f"{MOCHA}/mcscript_dev_questions.jsonl",
    },
    "roc_stories/mans_roc.jsonl": {"mans_roc.json": f"{MANS}/mans_roc.json"},
    "roc_stories/roc_plain.txt": {"reference.txt": f"{UNION}/reference.txt"},
    "songci/songci.jsonl": {
        "ci.song.#1.json": f"{POETRY}/ci.song.[0-21000:1000].json",  # curl fetches the whole range
        "cipai.txt": f"{SONGNET}/cipai.txt",
    },
}

# Files that `python -m data.prepare` reads as well, to leave out their texts.
NEEDED_FIRST: Mapping[str, str] = {
    "attributes/sentiment_rt_polarity.jsonl": "attributes/sentiment_sst2_dev.jsonl",
    "roc_stories/roc_plain.txt": "roc_stories/mans_roc.jsonl",
}

LICENCES: Mapping[str, str] = {
    "attributes": "reviews: none stated, SST-2 copy MIT; AG News: not for commercial use; newsgroups: none stated",
    "commongen_train": "MIT",
    "commongen_trinity": "MIT",
    "ctrleval": "none stated: for research, not to be passed on",
    "dialogue": "CDM: MIT; Topical-Chat: CDLA-Sharing 1.0; DailyDialog: CC BY-NC-SA 4.0, not for commercial use",
    "dstc9": "none stated: for research, not to be passed on",
    "fed": "none stated: for research, not to be passed on",
    "newsroom": "repository: Apache-2.0; the articles belong to their publishers: for research",
    "qa_ratings": "none stated: for research, not to be passed on",
    "roc_stories": "none stated: for research, not to be passed on",
    "songci": "MIT",
}
