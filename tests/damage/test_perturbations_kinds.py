"""Each kind of damage to words and numbers does what it says, by examples worked out by hand.

An example gives all that may come out, as a pattern; every seed must give one of these.
"""

from __future__ import annotations

import re

import pytest

from adequa.damage.sentences import damaged_text

SEEDS = range(12)


def results(kind: str, text: str) -> set[str]:
    """What the seeds make of a text."""
    made = [damaged_text(text, kind, 1.0, seed=seed) for seed in SEEDS]
    assert None not in made, f"{kind} does not apply to {text!r}"
    return {text for text in made if text is not None}


def one_of(*texts: str) -> str:
    return "|".join(map(re.escape, texts))


NUMBERS = [
    ("number_changed", "It cost 5 euros.", r"It cost [1-46-9] euros\."),
    ("number_changed", "It cost 3,500 euros.", r"It cost [124-9],[1-9]00 euros\."),
    ("number_changed", "It fell by 0.50 points.", r"It fell by 0\.[1-46-9]0 points\."),
    ("number_changed", "Only 7% came.", r"Only [1-689]% came\."),
    ("number_changed", "It began in 2019.", r"It began in (?!2019)(?:19[5-9]\d|20[012]\d)\."),
    ("number_changed", "On 26 May it ended.", r"On (?!26)(?:[1-9]|1\d|2[0-8]) May it ended\."),
    ("number_changed", "On May 9 it ended.", r"On May (?!9)(?:[1-9]|1\d|2[0-8]) it ended\."),
    ("number_changed", "It opens at 7:30.", r"It opens at (?:[1-68-9]|1[0-2]):30\."),
    ("number_changed", "It opens at 18:30.", r"It opens at (?!18)(?:1[3-9]|2[0-3]):30\."),
    ("number_changed", "It opens at 9 am.", r"It opens at (?:[1-8]|1[0-2]) am\."),
    ("number_changed", "Room 0 is open.", r"Room [1-9] is open\."),
    ("number_changed", "the 2nd team", r"the (?:1st|3rd|[4-9]th) team"),
    ("number_changed", "a 20-year-old man", r"a [13-9]0-year-old man"),
    ("number_word_changed", "Three dogs came.", r"(?:Two|Ten|[FSNE]\w+) dogs came\."),
    ("number_word_changed", "He came twice.", r"He came once\."),
    ("number_word_changed", "the third man", r"the (?:first|second|\w+th) man"),
    ("number_word_changed", "about forty men", r"about (?!forty)[a-z]+ty men"),
    ("magnitude_changed", "It cost 3,500 euros.", r"It cost (?:35,000|350,000|350|35) euros\."),
    ("magnitude_changed", "It fell by 12.3 points.", r"It fell by 123 points\."),
    ("magnitude_changed", "two million people", r"two (?:hundred|thousand|[bt]r?illion) people"),
    ("magnitude_changed", "It is 40 km away.", r"It is (?:4|400|4000) km away\."),
    ("date_changed", "He came on Monday.", r"He came on (?!Monday)\w+day\."),
    ("date_changed", "It was in May 1999.", r"It was in (?!May)[A-Z]\w+ 1999\."),
    ("date_changed", "Late in March it rained.", r"Late in (?!March)[A-Z]\w+ it rained\."),
    ("unit_changed", "It is 5 km away.", r"It is 5 (?:mm|cm|m|mi|ft) away\."),
    ("unit_changed", "It cost $30.", r"It cost [€£¥]30\."),
    ("unit_changed", "two acres of land", r"two hectares of land"),
    ("unit_changed", "It weighs 5 pounds.", r"It weighs 5 (?:grams|kilograms|tonnes|ounces)\."),
    ("unit_changed", "a 20-year-old man", r"a 20-(?:second|minute|hour|day|\w+)-old man"),
]  # fmt: skip
NEGATIONS = [
    *[
        ("negation_dropped", f"They {before} go.", rf"They {after} go\.")
        for before, after in {
            "don't": "do", "doesn't": "does", "didn't": "did", "can't": "can", "won't": "will",
            "shan't": "shall", "couldn't": "could", "mustn't": "must", "hasn't": "has",
            "cannot": "can", "do not": "do", "will not": "will", "do n't": "do", "ca n't": "can",
            "wo n't": "will", "don’t": "do", "never": "always", "no longer": "still",
        }.items()
    ],
    ("negation_dropped", "It isn't and wasn't here.", r"It is and was here\."),
    ("negation_dropped", "DON'T go.", r"DO go\."),
    ("negation_dropped", "CAN'T go.", r"CAN go\."),
    ("negation_dropped", "Not all came.", r"All came\."),
    ("negation_dropped", "They did not.", r"They did\."),
    ("negation_dropped", "Nobody came.", r"Everybody came\."),
    ("negation_dropped", "There is no plan.", r"There is a plan\."),
    ("negation_dropped", "There is no answer.", r"There is an answer\."),
    ("negation_dropped", "There are no plans.", r"There are some plans\."),
    ("negation_dropped", "No, he left.", r"Yes, he left\."),
    ("negation_dropped", "He left without her.", r"He left with her\."),
    ("negation_dropped", "Neither Ann nor Bob came.", r"Both Ann and Bob came\."),
    ("negation_added", "The house is old.", r"The house is not old\."),
    ("negation_added", "He can come.", r"He cannot come\."),
    ("negation_added", "He will have been there.", r"He will not have been there\."),
    ("negation_added", "She has seen it.", r"She has not seen it\."),
    ("negation_added", "It's late.", r"It's not late\."),
    ("negation_added", "She went home.", r"She did not go home\."),
    ("negation_added", "He wants more.", r"He does not want more\."),
]  # fmt: skip
NAMES = [
    ("name_swapped", "The team met Novotny.", r"The team met (?!Novotny)[A-Z][a-z]+\."),
    ("name_swapped", "They flew from Prague.", r"They flew from (?!Prague)[A-Z][a-z]+\."),
    ("name_swapped", "They met Jan Hala.", r"They met (?!Jan Hala)[A-Z]\w+ [A-Z]\w+\."),
    ("name_swapped", "He met President Hala here.", r"He met President (?!Hala)[A-Z]\w+ here\."),
    ("name_swapped", "It is Hala's old house.", r"It is (?!Hala)[A-Z]\w+'s old house\."),
    ("names_exchanged", "We saw Ann leave Bob.", r"We saw Bob leave Ann\."),
    ("names_exchanged", "a train from Brno to Prague", r"a train from Prague to Brno"),
    ("pronoun_swapped", "He saw her.", r"She saw him\."),
    ("pronoun_swapped", "She saw her brother.", r"He saw his sister\."),
    ("pronoun_swapped", "They sold our house.", r"We sold their house\."),
    ("subject_object_exchanged", "Ann visited Bob.", r"Bob visited Ann\."),
    ("subject_object_exchanged", "The dog chased him.", r"He chased the dog\."),
    ("subject_object_exchanged", "He was beaten by a guard.", r"A guard was beaten by him\."),
]
MEANINGS = [
    ("antonym_swapped", "Prices increased.", r"Prices decreased\."),
    ("antonym_swapped", "It is a safe place.", r"It is a dangerous place\."),
    ("antonym_swapped", "He is an old friend.", r"He is a (?:new|young) enemy\."),
    ("quantifier_swapped", "Most people came.", r"Few people came\."),
    ("quantifier_swapped", "All men came.", r"(?:Some|Few) men came\."),
    ("quantifier_swapped", "A few men came.", r"(?:Many|Countless) men came\."),
    ("comparison_reversed", "It costs more than gold.", r"It costs less than gold\."),
    ("comparison_reversed", "He left before noon.", r"He left after noon\."),
    ("comparison_reversed", "At least ten came.", r"At most ten came\."),
    ("comparison_reversed", "over 300 people", r"under 300 people"),
    ("tense_changed", "He is here.", r"He was here\."),
    ("tense_changed", "I was here.", r"I am here\."),
    ("tense_changed", "She said so.", r"She will say so\."),
    ("tense_changed", "It has ended.", r"It will have ended\."),
    ("tense_changed", "It has doors.", r"It had doors\."),
    ("tense_changed", "It isn't here.", r"It wasn't here\."),
    ("article_wrong", "He ate an apple.", one_of("He ate a apple.", "He ate apple.")),
    ("article_wrong", "The dog ate.", one_of("Dog ate.", "An dog ate.")),
    ("word_form_wrong", "They are here.", r"They is here\."),
    ("word_form_wrong", "He wants to go.", r"He wants to (?:went|going)\."),
    ("word_form_wrong", "It took two days.", r"It took two day\."),
    ("word_form_wrong", "It mattered politically.", r"It mattered political\."),
    ("word_form_wrong", "He came early, successfully.", r"He came early, successful\."),
    ("preposition_swapped", "He came from Brno.", r"He came (?:to|on|with) Brno\."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), [*NUMBERS, *NEGATIONS, *NAMES, *MEANINGS])
def test_what_words_become(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result
        assert result != text


NOT_APPLICABLE = [
    ("number_changed", "No number in here."),
    ("number_changed", "the H2O and B2B"),
    ("number_word_changed", "At first no one came."),
    ("number_word_changed", "Wait a second."),
    ("number_word_changed", "one third of it"),
    ("magnitude_changed", "It began in 2019."),
    ("magnitude_changed", "on September 26 at 7:30"),
    ("date_changed", "They may march today."),
    ("date_changed", "May I come?"),
    ("unit_changed", "He has five dogs."),
    ("negation_dropped", "He came to No. 5 today."),
    ("negation_dropped", "Whether or not it rains."),
    ("negation_dropped", "It is not only old."),
    ("negation_added", "What a day!"),
    ("negation_added", "It was not so."),
    ("name_swapped", "The cat sat. The dog ran."),
    ("name_swapped", "He knew what I'm doing."),
    ("name_swapped", "UN Chief Says Talks With Syria End"),
    ("name_swapped", "“Never,” said the man on Monday."),
    ("names_exchanged", "We saw Ann and Bob again."),
    ("names_exchanged", "We saw Ann, Bob, and Cleo again."),
    ("names_exchanged", "We saw Ann."),
    ("pronoun_swapped", "The US army left."),
    ("subject_object_exchanged", "The dog slept."),
    ("subject_object_exchanged", "He worked the whole night."),
    ("antonym_swapped", "So far, it rained."),
    ("quantifier_swapped", "After all, it was not at all so."),
    ("comparison_reversed", "He tried once more."),
    ("tense_changed", "At 11 AM"),
    ("article_wrong", "Dogs bark."),
    ("word_form_wrong", "Dogs bark."),
    ("preposition_swapped", "They carried on."),
    ("word_omitted", "It is so."),
    ("phrase_omitted", "It is so."),
    ("clause_omitted", "He came home early."),
    ("half_omitted", "Come here."),
    ("beginning_omitted", "Come here."),
    ("ending_truncated", "Come here."),
    ("word_salad", "Come here."),
    ("neighbours_exchanged", "Ann Lee. Said"),
    ("phrase_moved", "He came home early."),
    ("phrase_repeated", "Come."),
    ("ending_looped", "Come."),
    ("text_repeated", "..."),
    ("other_sentence", "He came home early."),  # there are no others
    ("content_added", "He came home early."),
    ("ending_hallucinated", "He came home early."),
    ("detail_added", "Yes."),
    ("untranslated", "He came home early."),  # there is no source
    ("partly_untranslated", "He came home early."),
    ("words_untranslated", "It is 5."),
    ("wrong_language", "..."),
    ("script_changed", "It is 5."),
    ("wrong_word", "It is so."),
    ("word_repeated", "10 30"),
    ("empty", "  "),
    ("only_punctuation", "..."),
    ("placeholder", "Come here."),
    ("typos", "It is so."),
    ("words_split", "It is here."),
    ("spaces_dropped", "Yes."),
    ("case_lowered", "The cat sat."),
    ("case_raised", "YES, 5!"),
    ("case_random", "5!"),
    ("punctuation_dropped", "The cat sat."),
    ("punctuation_wrong", "Yes"),
    ("quotes_broken", "He said yes."),
    ("quotes_broken", 'It begins here." So it was.'),  # alone already
    ("mojibake", "It is 5."),
    ("unknown_words", "It is 5."),
    ("markup_left", "..."),
    ("slots_unfilled", "The cat sat."),
    ("pieces_unjoined", "The cat sat."),
]


@pytest.mark.parametrize(("kind", "text"), NOT_APPLICABLE)
def test_what_cannot_be_done_is_not_done(kind: str, text: str) -> None:
    assert all(damaged_text(text, kind, 1.0, seed=seed) is None for seed in SEEDS)
