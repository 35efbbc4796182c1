"""Answers as chat models give them, with what they mean: ratings from 1 to 5, and the better of two texts."""

import time

import pytest

from baselines.verdicts import clean, read_choice, read_rating

RATINGS: list[tuple[str, float | None]] = [
    # a number alone
    ("4", 4),
    (" 4\n", 4),
    ("4.", 4),
    ("**4**", 4),
    ("`4`", 4),
    ("# 4", 4),
    ("(4)", 4),
    ("[4]", 4),
    ("[[4]]", 4),
    ('"4"', 4),
    ("$4$", 4),
    (r"\boxed{4}", 4),
    (r"$\boxed{4}$", 4),
    ("3.5", 3.5),
    ("3,5", 3.5),
    ("4/5", 4),
    ("4 / 5", 4),
    ("4 out of 5", 4),
    ("4 von 5", 4),
    ("4 points", 4),
    ("4 stars.", 4),
    ("４", 4),
    ("4分", 4),
    ("4点", 4),
    ("4점", 4),
    # a number, then a reason
    ("4\n\nThe text is coherent, with 2 small slips.", 4),
    ("4 - coherent, but it ends abruptly.", 4),
    ("4, because it flows.", 4),
    ("4 (good)", 4),
    ("4: good", 4),
    ("Score: 4\nReason: one of its 3 sentences repeats itself.", 4),
    # a label
    ("Rating: 4", 4),
    ("rating:4", 4),
    ("RATING: 4", 4),
    ("**Rating:** 4", 4),
    ("**Rating: 4**", 4),
    ("*Rating*: **4/5**", 4),
    ("### Final Rating: 4", 4),
    ("Final score = 4", 4),
    ("Score → 4", 4),
    ("Score | 4 |", 4),
    ("Rating (1-5): 4", 4),
    ("Score (out of 5): 4.5", 4.5),
    ("Rating on a scale of 1 to 5: 4", 4),
    ("Overall coherence rating: 4.", 4),
    ("Rating: [4]", 4),
    ("Rating: <4>", 4),
    ("Rating: [[4]]", 4),
    ('Rating: "4"', 4),
    ("Rating: 4, because it flows", 4),
    ("Rating: 4 (mostly coherent)", 4),
    ("Rating: 4 – mostly coherent", 4),
    ("Rating: 4 out of 5 stars", 4),
    ("The rating is 4.", 4),
    ("My score would be 4 out of 5.", 4),
    ("The final answer is **4**.", 4),
    ("- Score: 4", 4),
    ("> Score: 4", 4),
    ("Rating\n4", 4),
    ("I would rate this text a 4.", 4),
    ("I'd give it 4 out of 5.", 4),
    ("I give 3.5 of 5", 3.5),
    ("<score>4</score>", 4),
    ("Feedback: it has 2 gaps. [RESULT] 3", 3),
    ("Rating: 4.5/5.0", 4.5),
    ("On a scale of 1 to 5, I would rate it 4.", 4),
    ("Rating: 2 | Confidence: 5", 2),
    # the last one counts
    ("The text has 2 sentences. Rating: 5", 5),
    ("Fluency is at 3 here.\nRating: 4", 4),
    ("Rating: 3\nOn reflection, one slip is small.\nRating: 4", 4),
    ("There are 3 faults:\n1. A slip.\n2. A gap.\n3. A jump.\n\nScore: 2", 2),
    ("Score for grammar: none given.\n\n2/5", 2),
    ("First I thought 5/5. Then I saw the gap: 3/5", 3),
    # JSON
    ('{"score": 4}', 4),
    ('{"rating": 4.5}', 4.5),
    ('{"score": "4"}', 4),
    ('```json\n{"reason": "2 gaps, 1 slip", "score": 3}\n```', 3),
    ('{"overall_score": 4, "reason": "fine"}', 4),
    ("{'score': 4}", 4),
    ('{"score": 2, "explanation": "It has 5 parts."}', 2),
    # reasoning
    ("<think>There are 2 faults</think> 3", 3),
    ("<think>\nRating: 1? No, better.\n</think>\n\nRating: 4", 4),
    ("I count 2 faults.\n</think>\n4", 4),
    ("<think>2 faults, so Rating: 2", None),
    ("<reasoning>4/5?</reasoning><answer>3</answer>\n\nRating: 3", 3),
    ("<|channel|>analysis<|message|>Score: 1 or 2<|channel|>final<|message|>4", 4),
    # other languages
    ("Bewertung: 4", 4),
    ("Bewertung: 4,5 von 5 Punkten", 4.5),
    ("Note : 4/5", 4),
    ("La note est 4.", 4),
    ("Puntuación: 4", 4),
    ("Calificación: 4 de 5", 4),
    ("Punteggio: 4 su 5", 4),
    ("Nota: 4,5", 4.5),
    ("Оценка: 4", 4),
    ("Оценка: 4 из 5", 4),
    ("Ocena: 4", 4),
    ("评分：4", 4),
    ("最终得分：4分", 4),
    ("评分：4/5", 4),
    ("评分是4。", 4),
    ("スコア：4", 4),
    ("評価: 4点", 4),
    ("점수: 4점", 4),
    # no verdict
    ("", None),
    ("four", None),
    ("I cannot judge this text.", None),
    ("I'm sorry, but I can't help with that.", None),
    ("As an AI, I have no opinions.", None),
    ("There are 2 faults.", None),
    ("The text has 4 sentences and 2 of them are good.", None),
    ("It answers 3 out of 5 questions well.", None),
    ("Only 2/5 of it is on topic.", None),
    ("The score is 3 points lower than it should be.", None),
    ("Rating: 4 is too high, 3 too low.", None),
    ("I would rate it 4 if it were shorter.", None),
    ("I would not rate it 5.", None),
    ("Chapter 3", None),
    ("On 12.3.2024 it was fine.", None),
    ("1. The text is short.\n2. It is dull.", None),
    ("Coherence: see above", None),
    ("Please provide the text. Scale: 1 to 5.", None),
    # out of the scale, or of another one
    ("0", None),
    ("12", None),
    ("-4", None),
    ("Rating: 7", None),
    ("Rating: 8/10", None),
    ("4/10", None),
    ("Rating: 80%", None),
    ("4%", None),
    # ambiguous
    ("Rating: 3-4", None),
    ("Rating: 3 – 4", None),
    ("Rating: 4 or 5", None),
    ("Rating: 3 to 4", None),
    ("4 or 5", None),
    ("3/4", None),
    ("9, no: 3", None),
    ("[[4]] or [[5]]", None),
    ("Rating: 4\nRating: 3 or 4", None),
]

CHOICES: list[tuple[str, float | None]] = [
    # a letter alone
    ("A", 1),
    ("B", 0),
    ("C", 0.5),
    ("B.", 0),
    ("**B**", 0),
    ("(B)", 0),
    ("[B]", 0),
    ("[[B]]", 0),
    ("[[C]]", 0.5),
    ('"A"', 1),
    (r"\boxed{B}", 0),
    ("Text B", 0),
    ("Text B.", 0),
    ("Option A", 1),
    ("Response B", 0),
    ("Assistant A", 1),
    ("Tie", 0.5),
    ("A tie", 0.5),
    ("a tie.", 0.5),
    ("Neither", 0.5),
    ("Ｂ", 0),
    # a letter, then a reason
    ("B\n\nText A repeats itself.", 0),
    ("B, because A repeats itself.", 0),
    ("B - it flows.", 0),
    ("A: it flows.", 1),
    # a label
    ("Answer: B", 0),
    ("**Answer:** B", 0),
    ("answer: b", 0),
    ("ANSWER: B.", 0),
    ("Verdict: Text B", 0),
    ("Final verdict: [[A]]", 1),
    ("Winner: B (slightly)", 0),
    ("The winner is B.", 0),
    ("The better text is A.", 1),
    ("Better text: A", 1),
    ("My choice is the text B.", 0),
    ("Verdict: tie", 0.5),
    ("Answer: a tie", 0.5),
    ("Answer: Text B is better.", 0),
    ("Preference: A, because it flows", 1),
    # sentences that say nothing else
    ("Text B is better.", 0),
    ("Overall, text A is slightly better.", 1),
    ("B is better than A.", 0),
    ("I prefer text A.", 1),
    ("It is a tie.", 0.5),
    ("Both texts are equally good.", 0.5),
    ("<answer>B</answer>", 0),
    # the last one counts
    ("Answer: B\n\nText A, in contrast, is worse.", 0),
    ("Text A is shorter, whereas text B is more coherent. [[B]]", 0),
    ('I answer "[[A]]" if A is better, "[[B]]" if B is better.\n\n[[A]]', 1),
    ("Text A has a gap. Text B has none.\n\nB", 0),
    ("Neither text is perfect.\n\nVerdict: B", 0),
    ("Verdict: A\nWait, A contradicts itself.\nVerdict: B", 0),
    # JSON
    ('{"winner": "B"}', 0),
    ('{"reason": "A is short", "verdict": "B"}', 0),
    ('```json\n{"choice": "tie"}\n```', 0.5),
    ("{'answer': 'A'}", 1),
    # reasoning
    ("<think>A is better in grammar. [[A]]</think>\n[[B]]", 0),
    ("Text A it is.\n</think>\n\nB", 0),
    ("<think>Answer: A", None),
    # other languages
    ("Antwort: B", 0),
    ("Respuesta: A", 1),
    ("Réponse : B", 0),
    ("Risposta: B", 0),
    ("Ответ: A", 1),
    ("答案：B", 0),
    ("选择：A", 1),
    ("平局", 0.5),
    ("答え：B", 0),
    ("引き分け", 0.5),
    ("정답: B", 0),
    ("Unentschieden", 0.5),
    # no verdict
    ("", None),
    ("I cannot say.", None),
    ("I'm sorry, but I can't compare these texts.", None),
    ("A text should be coherent.", None),
    ("A good one, both are.", None),
    ("Text A is shorter.", None),
    ("A is longer, B is shorter.", None),
    ("If B is better, its end is why.", None),
    ("Text B is not better.", None),
    ("Vitamin C", None),
    ("Plan B failed.", None),
    ("A: Hello there.\nB: Hi, how are you?", None),
    ("D", None),
    ("Both have merits, and neither text is perfect.", None),
    # ambiguous
    ("A or B", None),
    ("A/B", None),
    ("A, B", None),
    ("Answer: A or B", None),
    ("Answer: A/B", None),
    ("[[A]] or [[B]]", None),
    ("[[A]], [[B]] or [[C]]", None),
]

CUT: list[tuple[str, float | None]] = [
    ("4", 4),
    ("4\n\nThe text is coherent, although", 4),
    ("Rating: 4\nReason: the", 4),
    ("The text begins well. Rating: 4", None),
    ("4\n\nHowever, the end is weak, so Rating: 3", None),
    ("The text has", None),
    ("<think>It may be a 4\n4", None),
]


@pytest.mark.parametrize(("answer", "rating"), RATINGS)
def test_ratings(answer: str, rating: float | None) -> None:
    found = read_rating(answer, (1, 5))
    assert (found and found[0]) == rating


@pytest.mark.parametrize(("answer", "choice"), CHOICES)
def test_choices(answer: str, choice: float | None) -> None:
    assert read_choice(answer) == choice


@pytest.mark.parametrize(("answer", "rating"), CUT)
def test_answers_that_were_cut(answer: str, rating: float | None) -> None:
    found = read_rating(answer, (1, 5), is_cut=True)
    assert (found and found[0]) == rating


def test_the_table_is_large() -> None:
    answers = {answer for answer, _ in RATINGS + CHOICES + CUT}
    assert len(answers) >= 150


@pytest.mark.parametrize(
    "unit",
    [
        "1",
        "1.",
        "1,",
        "[",
        "[[",
        "[[A",
        "<think>",
        "</think>",
        "Rating: ",
        "score ",
        "A ",
        '"a":',
        "4/",
        "(",
        "-",
        "答案",
    ],
)
@pytest.mark.parametrize("end", ["", "..1", "x"])
def test_no_answer_takes_long(unit: str, end: str) -> None:
    answer = (unit * 10_000)[:10_000] + end
    start = time.process_time()
    read_rating(answer, (1, 5))
    read_choice(answer)
    clean(answer)
    assert time.process_time() - start < 2
