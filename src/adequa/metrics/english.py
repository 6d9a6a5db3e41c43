"""Whether a text is plainly not English, by its script or by the small words of other languages.

The check is cautious: it says nothing of names, numbers and texts of a few words, and speaks up
only where hardly any word is English. Its lists are short and hand-made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"[^\W\d_]+")
_LETTER = re.compile(r"[^\W\d_]")
# Letters that are not Latin, be it in full width or in the styles of mathematics.
_OTHER_LETTER = re.compile(
    r"[^\W\d_\u0000-\u02af\u1d00-\u1dbf\u1e00-\u1eff\uff21-\uff5a\U0001d400-\U0001d7ff]"
)
# Upper case has no dotless i, and the lower case of the Turkish İ is an i with a mark.
_ONE_I = str.maketrans({"ı": "i", "\u0307": None})

# Spellings that hardly any word but a name has in English.
_UNENGLISH = re.compile(r"aa|ii|uu|yy|kk|iy|mente$|[^\x00-\x7f]")

_FEW_LETTERS = 3  # letters of another script that may be a symbol or an abbreviation
_FEW_WORDS = 4  # different words that may be a name or a title
_EVIDENCE = 1.5  # what the words of another language weigh together, at least
_IN_A_NAME = 0.5  # the weight of a word that names in English texts may have
_NAMES_ALONE = 3.0  # what such words weigh together, at least, where they may be a list of names
_LONG_NAME = 7  # different words of a name that has two particles, at most
_AGAINST, _HARDLY_AGAINST = 2.0, 0.5  # the weight of an English word, and of a shared one


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Words of English texts alone.
_ENGLISH = _words(
    """
    the and of to that with this these those they them their there then than from have had been
    were which who whom whose what when where while why how his him she it its our you your us my
    would could should shall can cannot may might must not but because although though however
    therefore into onto upon about after before between through during against among without
    within again further once here any both each few more most other some only own same very just
    now out off up down if whether until since being does did doing having said says say two three
    four first last new year years people time also even still many much every another well back
    get make made take like good know don doesn didn isn aren wasn weren wouldn couldn shouldn
    """
)

# Small words of English that other languages write the same, whatever they mean there.
_SHARED = _words(
    """
    a i in on an at as by be he we are is was has will or so no for me do her all one over under
    go come see am per man men such via near s t
    """
)

# Particles of names, and words too short to be surely no initials or abbreviations.
_IN_NAMES = _words(
    """
    de la le les du des der den dem das von und van ter del della di da do dos el los las al il lo
    en et est que na si je se un una es te op om mit im um aus bei zu au aux ne ha ja ve ir za po
    od ka og sa som bez nad ki ya dan em y w z v e l ni ar par su non con mi mon ma são
    """
)

_FOREIGN = frozenset[str]().union(
    # German, Dutch, Afrikaans
    _words(
        """
        ist nicht ein eine einen einem einer eines auf für sich auch sie ich wir ihr zum zur nach
        wie wird werden wurde wurden sind haben hatte oder aber wenn dass weil noch durch über unter
        vor kein keine sein seine seinen seiner ihre ihren diese dieser dieses kann können mehr sehr
        schon gegen zwischen immer heute jahr jahre jahren vom beim ihm ihn uns mir mich doch hier
        dort etwa steht laut beiden bereits rund soll sagte het een niet zijn voor aan naar werd
        wordt worden heeft hebben maar dat deze bij uit nog meer onder tegen tussen wij jullie hij
        zij haar mijn geen zich zoals omdat waar wanneer jaar ook nie vir hulle hierdie moet moeten
        kunnen zwei nur sei menschen sagt gibt warum dann bis seit habe meine nichts wegen andere
        """
    ),
    # French, Catalan
    _words(
        """
        une dans qui sur pas avec sont cette ces ce cet leur leurs nous vous ils elle elles mais où
        être avoir comme tous toute très depuis selon entre aussi ainsi après avant était ont été
        peut deux même lui donc alors quand parce cela ça celui celle dont chez vers contre pendant
        els amb més però aquest aquesta seva també quan perquè són és dels als
        """
    ),
    # Spanish, Portuguese
    _words(
        """
        unos unas por para como más pero sus está están este estos estas muy también cuando donde
        sobre hasta desde porque todo todos ella ellos según así años año había puede pueden tiene
        tienen sólo durante fue fueron han esta não uma umas das aos à às nas pelo pela pelos foi
        já ele ela eles elas seu sua seus suas isso esse essa onde muito até depois ainda você
        têm pode havia anos mais nada nuevo nueva dijo otras otros poco parece nos é
        """
    ),
    # Italian, Romanian
    _words(
        """
        gli che delle degli dei dello nella nelle nel negli sulla sul dalla alla alle agli allo sono
        più anche questo questa questi queste hanno essere stato stata fatto suo suoi perché molto
        dopo ogni ancora già così anni și şi în cu nu din pentru este fost sunt sau să că lui după
        când această acest aceste unei unui său lor foarte fără între până prin despre către doar
        anul toate toți poate cand iar peste își fel
        """
    ),
    # Swedish, Danish, Norwegian, Icelandic
    _words(
        """
        och att det inte är på för från av jag hon sig hade ska skulle eller också efter när mycket
        bara blir blev vara varit över mellan denna detta dessa många deras dem så än år ett har med
        ikke af jeg skal også når meget være været mellem denne dette disse mange deres fra hvor
        hvad hvis seg etter mye vært mellom nå hva að ekki við með hann hún það þetta þess þá þar ég
        þeir hefur voru eða frá fyrir eftir hafa verið vera mjög þegar hafi sér einnig úr sé í á
        """
    ),
    # Finnish, Estonian, Hungarian
    _words(
        """
        ei että oli hän mutta ovat joka jotka kun myös kuin olla sekä niin voi tämä tämän olisi
        hänen nyt mukaan kanssa jälkeen ennen mitä mikä vuonna vuoden vuotta sitä siitä siinä tässä
        eivät enää vielä hyvin kaikki ollut sen sillä joita jossa tällä kuitenkin niiden kertoi
        vuoksi yli aikana kaksi ole hänet jonka noin minun kertoo sanoi sanoo paljon vastaan viime
        kuinka ainakin kuten vaikka olivat nämä enemmän kui mis aga mida kes siis mitte kuid nagu
        selle seda üks nad või veel ainult pärast enne juba väga tema olnud az és hogy nem egy csak
        volt már még ez kell vagy után aki ami amely azt ezt voltak lesz lehet akkor nagyon pedig
        minden ők én őket neki szerint között majd így úgy előtt alatt során évben
        """
    ),
    # Polish, Czech, Slovak
    _words(
        """
        się nie że že jest jak przez dla są oraz który która które którzy było był była jego jej ich
        tym tego już tylko także być może więc gdy jednak przed roku będzie jsou jako byl byla bylo
        byli který kteří tak jeho její jejich jsem jsme při už jen také nebo když pokud aby kde
        ještě být má mají může však proto tím této tento tato toto podle před mezi není proti řekl
        toho tedy roce velmi další pak byly bude budou mít ve ze ke až co sú ako bolo ktorá ktorý
        ktoré ktorí sme vo tiež alebo keď ešte byť majú môže preto tým táto zo podľa medzi čo
        """
    ),
    # Croatian, Serbian, Slovene, Albanian
    _words(
        """
        koji koja koje što kao biti bila bilo iz nije smo ili nakon prije već samo kako će još
        godine godina ovo ovaj ter tudi kot še leta če dhe në të një për që është nga nuk kjo më
        janë së edhe ishte
        """
    ),
    # Lithuanian, Latvian, Turkish
    _words(
        """
        kad į iš yra apie kaip buvo jau už tik kurie kuris kuri jis ji jie nuo iki dėl taip savo
        metų metais prie uz kas kā arī viņš viņa lai bija tiek pēc nav vai šo šis šī savu gada gadu
        vēl tikai kopš kuru kuras būs ka bir bu için ile çok olarak daha olan gibi sonra kadar değil
        yok olduğu olduğunu ancak siz onlar çünkü veya önce göre tarafindan büyük dedi etti edildi
        oldu olacak eski yer geçen onun bunlar nedeniyle kendi yeni başkan bazi sadece ayni artik
        diye eğer hem hakkinda söyledi
        """
    ),
    # Indonesian, Vietnamese, Tagalog, Swahili, Welsh, Irish
    _words(
        """
        dengan untuk dari itu tidak pada dalam adalah juga oleh mereka kami kita bisa dapat sudah
        telah saya sebagai atau karena lebih tahun và của là không các có được trong một những người
        với này đã để khi từ về như cũng đến nhiều vào mga siya niya mula kwa katika kuwa hii lakini
        yake baada yn yr wedi ei ond sydd hefyd oedd agus tá raibh bhí leis níl
        """
    ),
) - (_ENGLISH | _SHARED | _IN_NAMES)


def looks_foreign(texts: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which texts are plainly not English; case and white space do not matter.

    >>> looks_foreign(["Der Hund war nicht in dem Haus und schlief.", "Der Spiegel said so.", "42"])
    array([ True, False, False])
    """
    return np.fromiter(map(_is_foreign, texts), dtype=np.bool_, count=len(texts))


def _is_foreign(text: str) -> bool:
    plain = _plain(text)
    return _has_foreign_words(plain) or (not plain.isascii() and _is_of_another_script(plain))


def _plain(text: str) -> str:
    """Text whose letters are the same however they were written."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", text.casefold().translate(_ONE_I))


def _is_of_another_script(text: str) -> bool:
    """Whether most letters are not Latin."""
    other = len(_OTHER_LETTER.findall(text))
    return other > _FEW_LETTERS and 2 * other > len(_LETTER.findall(text))


def _has_foreign_words(text: str) -> bool:
    """Whether the words, each counted once, are much rather those of another language."""
    words = set(_WORD.findall(text))
    against = _AGAINST * len(words & _ENGLISH) + _HARDLY_AGAINST * len(words & _SHARED)
    if len(words) <= _FEW_WORDS or against >= len(words):
        return False
    foreign, particles = words & _FOREIGN, words & _IN_NAMES
    unenglish = sum(map(bool, map(_UNENGLISH.search, words - foreign)))
    evidence = len(foreign) + _IN_A_NAME * (len(particles) + unenglish)
    no_name = foreign or (len(particles) > 1 and len(words) > _LONG_NAME)
    return evidence >= (_EVIDENCE if no_name else _NAMES_ALONE) and evidence > against
