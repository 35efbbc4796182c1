"""UniEval's question, against a forward pass written out."""

import pytest
import torch

from baselines.uni_eval import UniEval
from core.example import Example
from core.faults import ExampleFaults
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyT5

QUESTION = "question: coherent? </s> response: {response} </s> history: {history}"
DIALOGUES = [
    Example("a", turns=("hello there", "how are you", "Yes, fine")),
    Example("b", turns=("No", "it rains {today}")),
]


@pytest.fixture(scope="module")
def t5() -> Seq2SeqLM:
    texts = ["question: coherent? response: hello there how are you", "history: Yes No it rains {today}"]
    return TinyT5(300, d_model=16, d_ff=32, num_heads=2, num_layers=1, num_decoder_layers=1).build(texts, (), seed=0)


def probability_of_yes(lm: Seq2SeqLM, text: str) -> float:
    ids = torch.tensor([lm.tokenizer(text)["input_ids"]])
    start = torch.tensor([[lm.model.config.decoder_start_token_id]])
    with torch.no_grad():
        logits = lm.model.eval()(input_ids=ids, decoder_input_ids=start).logits[0, 0]
    yes, no = (lm.tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in ("Yes", "No"))
    return float(torch.softmax(logits[[yes, no]], 0)[0])


def test_the_score_is_the_mean_probability_of_yes(t5: Seq2SeqLM) -> None:
    found = UniEval(t5, "toy", {"coherence": QUESTION}).score(DIALOGUES)
    second = probability_of_yes(t5, QUESTION.format(response="how are you", history="hello there"))
    third = probability_of_yes(t5, QUESTION.format(response="Yes, fine", history="hello there\nhow are you"))
    (rain,) = (probability_of_yes(t5, QUESTION.format(response="it rains {today}", history="No")),)
    assert found.values["coherence"] == pytest.approx([(second + third) / 2, rain], abs=1e-6)
    assert found.explanations[0]["coherence"] == [
        ["how are you", pytest.approx(second, abs=1e-4)],
        ["Yes, fine", pytest.approx(third, abs=1e-4)],
    ]
    assert found.truncated == 0


def test_what_is_cut_is_counted_or_refused(t5: Seq2SeqLM) -> None:
    needed = len(t5.tokenizer(QUESTION.format(response="it rains {today}", history="No"))["input_ids"])
    cut = UniEval(t5, "toy", {"coherence": QUESTION}, max_length=needed - 2).score(DIALOGUES[1:])
    assert list(cut.dropped_tokens) == [2]
    with pytest.raises(ExampleFaults, match="at most"):
        UniEval(t5, "toy", {"coherence": QUESTION}, max_length=needed - 2, truncation="error").score(DIALOGUES[1:])
