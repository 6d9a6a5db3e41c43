"""Words and sentences in languages that news is translated from; hand-made, real and harmless.

They stand for what was left untranslated where the source is not at hand.
"""

from __future__ import annotations

from adequa.damage.wording import listed

# One language a line.
WORDS = tuple(
    listed(words)
    for words in (
        "Entwicklung Gesellschaft Zeitung schließlich gestern Behörde Nachbar obwohl verschiedene",
        "développement quartier beaucoup toujours entreprise voiture selon plusieurs",
        "ayuntamiento desarrollo siempre trabajo empresa vecino mañana aunque ciudadanos",
        "sviluppo azienda sempre lavoro cittadini stagione sebbene comune domani",
        "společnost zaměstnanec včera rozhodnutí dokonce silnice protože úřad rychle",
        "przedsiębiorstwo wczoraj ponieważ mieszkańcy zawsze decyzja droga szybko",
        "yhteiskunta eilen kehitys koska asukkaat päätös aina tehtävä",
        "toplum gelişme çünkü karar şirket dün vatandaş hızlı",
        "societate dezvoltare întotdeauna hotărâre locuitori ieri deoarece",
        "samfélag þróun vegna ákvörðun íbúar alltaf fyrirtæki",
        "общество вчера решение потому развитие жители предприятие всегда",
        "суспільство рішення тому розвиток мешканці завжди",
    )
)

SENTENCES = (
    "Die Stadt will im kommenden Jahr mehrere neue Schulen bauen.",
    "Nach Angaben der Polizei wurde bei dem Unfall niemand verletzt.",
    "Ich weiß noch nicht, ob wir morgen früh abreisen können.",
    "Der Vorstand hat beschlossen, die Preise vorerst nicht zu erhöhen.",
    "Le maire a annoncé que les travaux commenceraient au printemps.",
    "Nous n’avons pas encore reçu de réponse à notre lettre.",
    "Selon les experts, la situation devrait s’améliorer dans les prochains mois.",
    "Los vecinos piden más autobuses y una nueva biblioteca.",
    "El equipo perdió el partido en los últimos minutos.",
    "La empresa no quiso hacer declaraciones sobre el accidente.",
    "Il treno è arrivato in ritardo a causa della neve.",
    "Il governo presenterà il nuovo bilancio la prossima settimana.",
    "Město chce příští rok opravit most a dvě hlavní silnice.",
    "Podle policie nebyl při nehodě nikdo zraněn.",
    "Ještě nevíme, kdy se obchod znovu otevře.",
    "Władze miasta obiecały zbudować nowy szpital.",
    "Kaupunki aikoo rakentaa uuden koulun ensi vuonna.",
    "Poliisin mukaan onnettomuudessa ei loukkaantunut kukaan.",
    "Belediye gelecek yıl iki yeni park yapmayı planlıyor.",
    "Primarul a promis că lucrările se vor termina până la vară.",
    "Bærinn ætlar að byggja nýjan skóla á næsta ári.",
    "Городские власти обещали отремонтировать дорогу до конца года.",
    "По словам врачей, состояние больного не изменилось.",
    "Міська рада вирішила збудувати нову школу.",
    "市政府计划明年修建两所新学校。",
    "据警方介绍，事故中没有人受伤。",
    "市は来年、新しい図書館を建てる予定です。",
    "警察によると、この事故でけが人はいなかった。",
)
