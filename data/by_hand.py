"""Shell lines that turn public originals into the files that the loaders of texts read, by file.

They are for a user to run in the folder of the set. Nothing here is run by this software.
"""

from collections.abc import Mapping

MANS = "https://raw.githubusercontent.com/Boran-lucas/NLP_project/HEAD"  # the copy that is at hand has no commit
UNION = "https://raw.githubusercontent.com/thu-coai/UNION/f675d7bb57454b70bdaf1e62f45834f08e80d613"
BART_SCORE = "https://raw.githubusercontent.com/neulab/BARTScore/40c658fb5c8686cfef852bb73777439beb7d44ef"
KPQA = "https://raw.githubusercontent.com/hwanheelee1993/KPQA/064063cac451f1d7cb535d31a16a9db1854c8ad0"
MOCHA = "https://raw.githubusercontent.com/anthonywchen/mocha-leaderboard-data/f5b1c88fd6caf4a4b302adc4dba906982f179a61"
POETRY = "https://raw.githubusercontent.com/chinese-poetry/chinese-poetry/44ce55cd3c1c42298be4551e22a1179e6563eb06"
SONGNET = "https://raw.githubusercontent.com/lipiji/SongNet/f5305c5f7de7c6fb0d288d216fabf32de7d191c2"
CTRLEVAL = "https://raw.githubusercontent.com/thu-coai/CTRLEval/33639daedc376bd322f976f3feee5690a1de669e"

RT_POLARITY = (
    "https://raw.githubusercontent.com/dennybritz/cnn-text-classification-tf/a0d0e9742b3dc42194955e78858f7be93027c75e"
)
ALPS = "https://raw.githubusercontent.com/forest-snow/alps/43232f234087cdbb4b06cd0e3997460610a0dbfd"
NEWSGROUPS = "https://codeload.github.com/vaishnavivisweswaraiah/IR_TextMining/tar.gz/HEAD"

_MANS_ROC = f"""\
curl -LO {MANS}/data/mans_data/mans_roc.json
python - <<'END' > mans_roc.jsonl
import json
for key, story in json.load(open("mans_roc.json", encoding="utf-8")).items():
    for system, written in story["gen"].items():
        scores = written["score"]
        row = {{"id": f"mans-roc-{{key}}-{{system}}", "prompt": story["prompt"], "reference": story["gold_response"],
               "system": system, "text": written["text"], "ratings": scores, "mean_rating": sum(scores) / len(scores)}}
        print(json.dumps(row))
END"""

# Needs mans_roc.jsonl, to leave out what is rated there.
_ROC_PLAIN = f"""\
curl -LO {UNION}/Data/ROCStories/ant_data/reference.txt
python - <<'END' > roc_plain.txt
import json
def words(text):
    return " ".join(text.split()).casefold()
rows = [json.loads(line) for line in open("mans_roc.jsonl", encoding="utf-8")]
rated = {{words(row["prompt"] + " " + row["reference"]) for row in rows}}
for story in dict.fromkeys(line.strip() for line in open("reference.txt", encoding="utf-8")):
    if story and words(story) not in rated:
        print(story)
END"""

# A pickle may run code when it is read; this reader refuses all but plain dictionaries, lists, texts and numbers.
_NEWSROOM = f"""\
curl -LO {BART_SCORE}/SUM/Newsroom/data.pkl
python - <<'END' > newsroom.jsonl
import json, pickle
class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {{module}}.{{name}}")
aspects = ("coherence", "fluency", "informativeness", "relevance")
for key, article in Plain(open("data.pkl", "rb")).load().items():
    systems = {{}}
    for name, summary in article["sys_summs"].items():
        ratings = {{aspect: summary["scores"][aspect] for aspect in aspects}}
        systems[name] = {{"text": summary["sys_summ"], **ratings, "mean": sum(ratings.values()) / len(aspects)}}
    row = {{"id": f"newsroom-{{key}}", "source": article["src"], "reference": article["ref_summ"], "systems": systems}}
    print(json.dumps(row))
END"""


def _answers(
    name: str, table: str, system: str | None, scale: list[float], score: str = "scores", passages: bool = False
) -> str:
    """Lines that read a table of ratings; with `passages`, the first passage with the same question is joined."""
    fetch_passages = f"\ncurl -LO {MOCHA}/data/tmp/mcscript_dev_questions.jsonl" if passages else ""
    read_passages = (
        """
for line in open("mcscript_dev_questions.jsonl", encoding="utf-8"):
    passage = json.loads(line)
    passages.setdefault(passage["question"].lower(), passage["context"])"""
        if passages
        else ""
    )
    return f"""\
curl -LO {KPQA}/data/human_eval/{table}{fetch_passages}
python - <<'END' > {name}.jsonl
import csv, json
passages = {{}}{read_passages}
for i, row in enumerate(csv.DictReader(open("{table}", encoding="utf-8", newline=""))):
    names = [name for name in row if name.startswith("reference") and name != "{score}"]
    references = list(dict.fromkeys(row[name] for name in names if row[name].strip()))
    question = row["question"]
    print(json.dumps({{"id": f"{name}-{{i:04d}}", "system": {system!r}, "context": passages.get(question.lower()),
                      "question": question, "candidate": row["answer"], "references": references,
                      "score": float(row["{score}"]), "score_scale": {scale}}}))
END"""


_SONGCI = f"""\
for i in $(seq 0 1000 21000); do curl -LO {POETRY}/%E5%AE%8B%E8%AF%8D/ci.song.$i.json; done
curl -LO {SONGNET}/data/cipai.txt
python - <<'END' > songci.jsonl
import json, pathlib, re
known = set(pathlib.Path("cipai.txt").read_text(encoding="utf-8").split())
def one_name(tune):
    halves = tune.split("\\u30fb")
    return next((half for half in halves if half in known), halves[0])
number, seen = 0, set()
for path in sorted(pathlib.Path().glob("ci.song.*.json"), key=lambda path: int(path.name.split(".")[2])):
    for poem in json.loads(path.read_text(encoding="utf-8")):
        text = "".join(poem["paragraphs"])
        bare = re.sub("[，。、]", "", text)
        if (16 <= len(bare) <= 240 and text.endswith("。") and poem["rhythmic"].strip() and bare not in seen
                and re.fullmatch("[\\u3400-\\u9fff\\U00020000-\\U0003ffff]+", bare)):
            seen.add(bare)
            row = {{"id": f"ci-{{number:05d}}", "author": poem["author"], "rhythmic": poem["rhythmic"],
                   "cipai": one_name(poem["rhythmic"]), "lines": poem["paragraphs"]}}
            print(json.dumps(row))
        number += 1
END"""

# A sentence that the SST-2 development set has too stays out: both come from the same reviews.
_RT_POLARITY = f"""\
curl -LO {RT_POLARITY}/data/rt-polaritydata/rt-polarity.pos
curl -LO {RT_POLARITY}/data/rt-polaritydata/rt-polarity.neg
python - <<'END' > sentiment_rt_polarity.jsonl
import json
def words(text):
    return "".join(text.split()).casefold()
seen = {{words(json.loads(line)["text"]) for line in open("sentiment_sst2_dev.jsonl", encoding="utf-8")}}
for label in ("positive", "negative"):
    for i, line in enumerate(open(f"rt-polarity.{{label[:3]}}", encoding="utf-8", newline="\\n")):
        if words(line) and words(line) not in seen:
            seen.add(words(line))
            print(json.dumps({{"id": f"rt-{{label[:3]}}-{{i:04d}}", "text": line.strip(), "label": label}}))
END"""

_SST2 = f"""\
curl -LO {ALPS}/data/SST-2/test.tsv
python - <<'END' > sentiment_sst2_dev.jsonl
import json
for i, line in enumerate(open("test.tsv", encoding="utf-8").read().splitlines()[1:]):
    text, number = line.rsplit("\\t", 1)
    print(json.dumps({{"id": f"sst2-{{i:04d}}", "text": text.strip(), "label": ("negative", "positive")[int(number)]}}))
END"""

_AG_NEWS = f"""\
curl -LO {ALPS}/data/agnews/dev.tsv
python - <<'END' > topic_ag_news.jsonl
import html, json, re
number = 0
for line in open("dev.tsv", encoding="utf-8").read().splitlines():
    text, label = line.rsplit("\\t", 1)
    text = re.sub(r"(?<![&\\w])(#\\d+|quot|amp|lt|gt);", r"&\\1;", text.replace("\\\\", " "))
    text = " ".join(re.sub("<[^>]*>", " ", html.unescape(text)).split())
    if 8 <= len(text.split()) <= 80 and label.lower() in ("world", "sports", "business", "sci/tech"):
        print(json.dumps({{"id": f"ag-{{number:04d}}", "text": text, "label": label.lower()}}))
        number += 1
END"""

_NEWSGROUPS = f"""\
curl -L {NEWSGROUPS} | tar xz --wildcards --strip-components 1 '*/mini_newsgroups/*'
python - <<'END' > topic_newsgroups.jsonl
import json, pathlib, re
labels = {{"comp": "computers", "talk.politics": "politics", "soc.religion": "religion", "talk.religion": "religion",
          "alt.atheism": "religion", "sci": "science"}}
for post in sorted(pathlib.Path("mini_newsgroups").glob("*/*")):
    group = post.parent.name
    label = next((label for beginning, label in labels.items() if group.startswith(beginning)), None)
    body = post.read_text(encoding="latin-1").partition("\\n\\n")[2].partition("\\n-- \\n")[0]
    lines = [line for line in body.splitlines() if not re.match(r"\\s*[>|:]", line)]
    words = [re.sub(r"\\S+@\\S+", "<email>", word) for line in lines for word in line.split()][:200]
    if label and len(words) >= 20:
        row = {{"id": f"ng-{{group}}-{{post.name}}", "text": " ".join(words), "label": label, "group": group}}
        print(json.dumps(row))
END"""

TEXTS_BY_HAND: Mapping[str, str] = {
    "roc_stories/mans_roc.jsonl": _MANS_ROC,
    "roc_stories/roc_plain.txt": _ROC_PLAIN,
    "newsroom/newsroom.jsonl": _NEWSROOM,
    "qa_ratings/semeval_mhpg.jsonl": _answers(
        "semeval_mhpg", "semeval_mhpgm.csv", "mhpg", [0.2, 1.0], score="reference2", passages=True
    ),  # its header is shifted: the column reference2 holds the score
    "qa_ratings/narrativeqa_mhpg.jsonl": _answers("narrativeqa_mhpg", "nrqa_mhpgm.csv", "mhpg", [0.2, 1.0]),
    "qa_ratings/msmarco.jsonl": _answers("msmarco", "marco_all.csv", None, [1.0, 5.0]),
    "qa_ratings/avsd.jsonl": _answers("avsd", "avsd_all.csv", None, [1.0, 5.0]),
    "songci/songci.jsonl": _SONGCI,
    "attributes/sentiment_rt_polarity.jsonl": _RT_POLARITY,
    "attributes/sentiment_sst2_dev.jsonl": _SST2,
    "attributes/topic_ag_news.jsonl": _AG_NEWS,
    "attributes/topic_newsgroups.jsonl": _NEWSGROUPS,
    "ctrleval/data_topic.txt": f"curl -LO {CTRLEVAL}/data/data_topic.txt",
}

TEXT_LICENCES: Mapping[str, str] = {
    "ctrleval": "none stated: for research, not to be passed on",
    "roc_stories": "none stated: for research, not to be passed on",
    "newsroom": "repository: Apache-2.0; the articles belong to their publishers: for research",
    "qa_ratings": "none stated: for research, not to be passed on",
    "songci": "MIT",
    "attributes": "reviews: none stated, SST-2 copy MIT; AG News: not for commercial use; newsgroups: none stated",
}
