"""The check for texts that are plainly not English: many languages, names, and real data."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.metrics import english
from adequa.metrics.english import looks_foreign
from judgements import judgement_rows, needs_judgements

FOREIGN = {
    "German": "Die Kinder haben gestern nicht im Garten gespielt, weil es geregnet hat.",
    "Dutch": "Het is niet de eerste keer dat de bus vandaag te laat komt.",
    "French": "Le train de Lyon est arrivé avec une heure de retard à cause de la neige.",
    "Spanish": "El camino que lleva al pueblo está cerrado desde hace más de una semana.",
    "Italian": "La biblioteca della città non è aperta la domenica, ma il sabato sì.",
    "Portuguese": "O barco não saiu do porto porque o vento era muito forte nesta manhã.",
    "Romanian": "Copiii au plecat la școală fără să își ia hainele groase pentru iarnă.",
    "Swedish": "Det är inte många som har sett den gamla bron från andra sidan.",
    "Danish": "Jeg har ikke set den gamle mand siden han flyttede til byen.",
    "Norwegian": "Vi har aldri sett så mye snø på fjellet som vi gjorde i år.",
    "Icelandic": "Það er ekki hægt að fara yfir ána fyrr en vatnið hefur minnkað.",
    "Finnish": "Vanha silta on suljettu, koska sen korjaus ei ole vielä valmis.",
    "Estonian": "Vana sild on suletud, sest selle parandus ei ole veel valmis.",
    "Hungarian": "A régi híd még zárva van, mert nem fejezték be a javítását.",
    "Polish": "Stary most jest zamknięty, bo jego naprawa jeszcze się nie skończyła.",
    "Czech": "Starý most je zavřený, protože jeho oprava ještě není hotová.",
    "Slovak": "Starý most je zatvorený, pretože jeho oprava ešte nie je hotová.",
    "Croatian": "Stari most je zatvoren jer njegov popravak još nije gotov.",
    "Lithuanian": "Senas tiltas uždarytas, nes jo remontas dar nėra baigtas, kaip buvo žadėta.",
    "Latvian": "Vecais tilts ir slēgts, jo tā remonts vēl nav pabeigts.",
    "Turkish": "Eski köprü kapalı, çünkü onarımı daha bitmedi ve yeni bir yol yok.",
    "Indonesian": "Jembatan tua itu ditutup karena perbaikannya tidak selesai pada tahun ini.",
    "Vietnamese": "Cây cầu cũ đã bị đóng vì việc sửa chữa không được hoàn thành.",
    "Russian": "Старый мост закрыт, потому что его ремонт ещё не закончен.",
    "Greek": "Η παλιά γέφυρα είναι κλειστή, γιατί η επισκευή δεν τελείωσε.",
    "Hindi": "पुराना पुल बंद है क्योंकि उसकी मरम्मत पूरी नहीं हुई है।",
    "Arabic": "الجسر القديم مغلق لأن إصلاحه لم ينته بعد.",
    "Chinese": "旧桥关闭了，因为维修还没有完成。",
    "Japanese": "修理がまだ終わっていないので、古い橋は閉鎖されています。",
    "Korean": "수리가 아직 끝나지 않아서 오래된 다리는 닫혀 있습니다.",
}

ENGLISH = {
    "plain": "The old bridge is closed because its repair is not finished yet.",
    "names": "Müller, Gómez and Łukasz met in Besançon with the mayor of São Paulo.",
    "particles": "Ursula von der Leyen and Robin van Persie spoke in La Paz about El Niño.",
    "quoted": 'He said "je ne sais pas" and left the room without his hat.',
    "title": "Der Spiegel and Le Monde de la Musique were on sale at the station.",
    "headline": "Police charge manager over promotion contracts",
    "verbless": "Craft ale, hay rides, dove releases, kung fu classes: a weekend for families",
    "loan words": "Café owners offer crème brûlée, jalapeño dips and a view of naïve art.",
    "a Greek letter": "The value of α is below β in all samples, and Σ is their sum.",
    "some Cyrillic": 'The word "мост" means bridge in Russian.',
    "poor translation": "In the city was yesterday a man by police for theft arrested.",
}

SAID_NOTHING = {
    "empty": "",
    "white space": " \t\n",
    "numbers": "3,500 – 42.7 % (2017/18)",
    "marks": "?! … --- ***",
    "name": "Gabriel García Márquez",
    "names": "Slavomír Lener, Vladimír Růžička, Petr Čechmánek",
    "place": "Rio de Janeiro, São Paulo",
    "name with particles": "Universidad Autónoma de la Ciudad de México",
    "short": "Guten Tag!",
    "formula": "α + β = γ",
    "letters in full width": "ＡＢＣＤ ＥＦＧＨ",
    "letters in a style": "𝐁𝐨𝐥𝐝 𝐰𝐨𝐫𝐝𝐬 𝐡𝐞𝐫𝐞",
    "broken": "\ud800 \x00 \u0301",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_other_languages_are_found(language: str) -> None:
    assert looks_foreign([FOREIGN[language]]).tolist() == [True]


@pytest.mark.parametrize("kind", ENGLISH)
def test_english_is_left_alone(kind: str) -> None:
    assert looks_foreign([ENGLISH[kind]]).tolist() == [False]


@pytest.mark.parametrize("kind", SAID_NOTHING)
def test_what_may_be_english_is_left_alone(kind: str) -> None:
    assert looks_foreign([SAID_NOTHING[kind]]).tolist() == [False]


@given(
    st.sampled_from([*FOREIGN.values(), *ENGLISH.values(), *SAID_NOTHING.values()]),
    st.sampled_from([str.upper, str.lower, str.title, str.swapcase, str.casefold]),
    st.sampled_from([" ", "\n", "\t ", "\u00a0", "\u3000"]),
    st.sampled_from(["NFC", "NFD"]),
)
def test_case_white_space_and_composition_do_not_matter(
    text: str, case: object, space: str, form: str
) -> None:
    assert callable(case)
    changed = unicodedata.normalize(form, case(space.join(["", *text.split(), ""])))  # type: ignore[arg-type]
    assert looks_foreign([changed]).tolist() == looks_foreign([text]).tolist()


@given(st.lists(st.text(max_size=60), max_size=5))
def test_a_text_is_judged_by_itself(texts: list[str]) -> None:
    found = looks_foreign(texts)
    assert found.shape == (len(texts),)
    assert found.dtype == bool
    assert found.tolist() == [looks_foreign([text])[0] for text in texts]


@given(st.sampled_from([*FOREIGN.values(), *ENGLISH.values()]), st.integers(1, 5))
def test_a_text_repeated_is_of_the_same_language(text: str, times: int) -> None:
    repeated = " ".join([text] * times)
    assert looks_foreign([repeated]).tolist() == looks_foreign([text]).tolist()


def test_the_lists_are_apart_and_written_as_texts_are_read() -> None:
    words = english._ENGLISH | english._SHARED | english._FOREIGN | english._IN_NAMES
    assert not english._FOREIGN & (english._ENGLISH | english._SHARED | english._IN_NAMES)
    assert not english._ENGLISH & (english._SHARED | english._IN_NAMES)
    assert all(english._plain(word) == word for word in words)


@needs_judgements
def test_real_references_and_sources() -> None:
    """Hardly any reference is flagged, and most sources of eight words or more are."""
    rows = [row for name in ("wmt13-da", "wmt16-da", "wmt17-da") for row in judgement_rows(name)]
    references = sorted({row["ref"] for row in rows})
    assert looks_foreign(references).sum() <= len(references) / 2_000
    by_language: dict[str, set[str]] = {}
    for row in rows:
        if len(row["src"].split()) >= 8 or row["lp"] == "zh-en":
            by_language.setdefault(row["lp"], set()).add(row["src"])
    found = {pair: looks_foreign(sorted(texts)).mean() for pair, texts in by_language.items()}
    assert len(found) >= 8
    assert min(found.values()) > 0.85, found
