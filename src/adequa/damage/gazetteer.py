"""Names of places, people and institutions, sorted so that one can stand for another of its sort.

All lists are short and hand-made; the people and their combinations are nobody in particular.
"""

from __future__ import annotations

from adequa.damage.wording import listed

COUNTRIES = listed(
    "Argentina Australia Austria Belgium Brazil Bulgaria Canada Chile China Colombia Croatia "
    "Cuba Denmark Egypt England Estonia Ethiopia Finland France Germany Ghana Greece Hungary "
    "Iceland India Indonesia Iran Iraq Ireland Israel Italy Japan Kenya Latvia Lebanon Libya "
    "Lithuania Malaysia Mexico Morocco Nepal Nigeria Norway Pakistan Peru Poland Portugal "
    "Romania Russia Scotland Serbia Slovakia Slovenia Somalia Spain Sudan Sweden Switzerland "
    "Syria Thailand Tunisia Turkey Uganda Ukraine Venezuela Vietnam Yemen America Britain "
    "Afghanistan Kazakhstan"
)
CITIES = listed(
    "Amsterdam Ankara Athens Baghdad Bangkok Barcelona Beijing Belgrade Berlin Boston Brno "
    "Brussels Bucharest Budapest Cairo Chicago Copenhagen Damascus Delhi Donetsk Dresden "
    "Dublin Edinburgh Frankfurt Geneva Hamburg Helsinki Istanbul Jerusalem Kiev Kyiv Lisbon "
    "London Madrid Manchester Melbourne Miami Milan Minsk Montreal Moscow Mumbai Munich "
    "Naples Nairobi Oslo Ottawa Paris Prague Reykjavik Riga Rome Seoul Shanghai Sofia "
    "Stockholm Sydney Tallinn Tehran Tokyo Toronto Vienna Vilnius Warsaw Washington Zagreb "
    "Zurich"
)
PEOPLES = listed(
    "African American Arab Asian Australian Austrian Belgian Brazilian British Bulgarian "
    "Canadian Chilean Chinese Croatian Cuban Czech Danish Dutch Egyptian Estonian European "
    "Finnish French German Greek Hungarian Icelandic Indian Indonesian Iranian Iraqi Irish "
    "Israeli Italian Japanese Kenyan Korean Latvian Lithuanian Mexican Moroccan Norwegian "
    "Pakistani Peruvian Portuguese Romanian Russian Scottish Serbian Slovak Slovenian Spanish "
    "Swedish Swiss Syrian Thai Turkish Ukrainian Vietnamese"
)
SURNAMES = listed(
    "Abbott Aldana Almeida Barlow Becker Benson Bianchi Brandt Calloway Carver Castillo "
    "Chandler Dalgaard Delgado Dvorak Eklund Farrell Fischer Fontaine Garland Granger Haddad "
    "Halloran Hartmann Holloway Ibarra Jansen Kaplan Keller Kovac Lambert Larsen Lindqvist "
    "Lombardi Malone Marchetti Mercer Moreau Nakamura Novak Okafor Olsen Petrov Pritchard "
    "Quiroga Ramsey Richter Salazar Sandoval Sorensen Stanek Tanaka Thornton Vargas Vaughan "
    "Weber Whitaker Yamada Zeman"
)
GIVEN_NAMES = listed(
    "Adam Agnes Alan Anna Bruno Carla Clara Daniel Diana Edgar Elena Emil Erika Felix Frank "
    "Greta Hannah Henry Igor Irene Jakob Jane Julia Karl Laura Leo Lucy Marcus Maria Martin "
    "Nina Oliver Oscar Paula Peter Petra Philip Ralph Robert Rosa Simon Sonia Stefan Thomas "
    "Vera Victor Walter"
)
INSTITUTIONS = listed(
    "Academy Agency Assembly Association Bank Board Chamber Commission Committee Company "
    "Congress Council Court Department Embassy Federation Foundation Institute League "
    "Ministry Museum Office Parliament Party Senate Union University"
)

SORTS = (COUNTRIES, CITIES, PEOPLES, INSTITUTIONS)
# Words with a capital that go before a name, or that are no name at all.
NO_NAMES = frozenset(
    listed(
        "I Mr Mrs Ms Miss Dr Sir Lady Lord President Prime Minister Chancellor King Queen Prince "
        "Princess Pope Bishop General Colonel Captain Professor Judge Senator Governor Mayor "
        "Chairman Director Secretary Deputy Ambassador Chief Foreign State States United Republic "
        "National Federal Internet God English Christmas Easter Monday Tuesday Wednesday Thursday "
        "Friday Saturday Sunday January February March April May June July August September "
        "October November December The A An Of In On And Or For To At By With From Its His Her "
        "Their Our My Your He She It We They You This That These Those Not No Is Are Was New Old "
        "North South East West Northern Southern Eastern Western Central Great Saint St San Santa "
        "Los Las El La Le De Van Von Street Road Square River Lake Mount Island Sea Ocean City "
        "Province County District Region"
    )
)
