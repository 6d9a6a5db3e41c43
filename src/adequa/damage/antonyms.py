"""Pairs of opposites, hand-made, each form written out so that the grammar stays right."""

from __future__ import annotations

from adequa.damage.wording import listed

_PAIRS = """
accept reject; accepted rejected; accepts rejects; accepting rejecting; admit deny;
admitted denied; admits denies; advantage disadvantage; advantages disadvantages; agree disagree;
agreed disagreed; agrees disagrees; allow forbid; allowed forbidden; allows forbids; alive dead;
ally enemy; allies enemies; approval rejection; approve reject; approved rejected; arrive depart;
arrived departed; arrival departure; attack defend; attacked defended; attacks defends;
beautiful ugly; beginning end; benefit harm; benefits harms; big small; bigger smaller;
biggest smallest; borrow lend; borrowed lent; bright dark; broad narrow; build destroy;
built destroyed; building destroying; buy sell; bought sold; buys sells; buying selling;
buyer seller; buyers sellers; calm nervous; careful careless; cheap expensive; cheaper dearer;
clean dirty; clear unclear; close distant; closed open; cold hot; colder hotter; common rare;
complex simple; confirm deny; confirmed denied; confirms denies; correct incorrect;
create destroy; created destroyed; danger safety; dangerous safe; day night; decline growth;
declined grew; decrease increase; decreased increased; decreases increases; decreasing increasing;
deep shallow; defeat victory; defeated lost to; difficult easy; difficulty ease; early late;
easier harder; easily hardly; employed unemployed; employment unemployment; empty full;
enter leave; entered left; expand shrink; expanded shrank; export import; exports imports;
exported imported; fail succeed; failed succeeded; failure success; fair unfair; famous unknown;
far near; fast slow; faster slower; fastest slowest; quickly slowly; quick slow; fat thin;
first last; foreign domestic; forget remember; forgot remembered;
freedom slavery; free occupied; frequent rare; friend enemy; friends enemies; friendly hostile;
 gain lose; gained lost; gains losses; generous mean; gentle rough; good bad;
great terrible; guilty innocent; happy sad; happiness sadness; hard soft; hate love; hated loved;
healthy sick; heavy light; high low; highest lowest; hire dismiss; hired dismissed; hope despair;
huge tiny; important unimportant; importance irrelevance; improve worsen; improved worsened;
improves worsens; improvement decline; improving worsening; include exclude; included excluded;
includes excludes; including excluding; inside outside; joined left; joy grief; large small;
largest smallest; legal illegal; legally illegally; light dark; likely unlikely; local foreign;
long short; longest shortest; loud quiet; maximum minimum; majority minority; modern ancient;
natural artificial; negative positive; new old; newest oldest; noise silence; normal abnormal;
north south; northern southern; east west; eastern western; obey disobey; offer refuse;
offered refused; official unofficial; open closed; opened closed; opens closes; opening closing;
opponent supporter; opponents supporters; opportunity threat; opposed supported; oppose support;
opposes supports; opposition support; optimistic pessimistic; optimism pessimism; pass fail;
passed failed; patient impatient; peace war; peaceful violent; permanent temporary;
permitted forbidden; pleasant unpleasant; poor rich; poverty wealth; popular unpopular;
possible impossible; possibility impossibility; praise criticise; praised criticised;
presence absence; present absent; private public; privately publicly; profit loss; profits losses;
profitable unprofitable; promote demote; promoted demoted; protect endanger; protected endangered;
proud ashamed; pull push; pulled pushed; punish reward; punished rewarded; raise lower;
raised lowered; raises lowers; raising lowering; reasonable unreasonable; recent ancient;
reliable unreliable; remain leave; remained left; remember forget; remembered forgot; right wrong;
rise fall; rises falls; rising falling; rose fell; risen fallen; rural urban;
satisfied dissatisfied; secure insecure;  sharp blunt; similar different;
smart stupid; smooth rough; sour sweet; stable unstable; stability instability; start stop;
started stopped; starts stops; starting stopping; begin end; began ended; begins ends;
strength weakness; strengthen weaken; strengthened weakened; strong weak; stronger weaker;
strongest weakest; strongly weakly; success failure; successful unsuccessful;
successfully unsuccessfully; sufficient insufficient; summer winter; superior inferior;
support oppose; supported opposed; supports opposes; supporting opposing; supporter opponent;
supporters opponents; survive die; survived died; talented untalented; tall short; thick thin;
tight loose; top bottom; true false; trust distrust; upper lower; useful useless; victory defeat;
visible invisible; voluntary compulsory; warm cold; wealthy poor; welcome unwelcome; wet dry;
wide narrow; win lose; won lost; winning losing; winner loser; winners losers; wins loses;
wise foolish; young old; youngest oldest; ability inability; able unable; active passive;
adult child; adults children; answer question; answers questions; backward forward; bottom top;
comfort discomfort; comfortable uncomfortable; connect separate; connected separated; dry wet;
familiar strange; formal informal; giving taking; heaven hell; honest dishonest;
income expenses; interesting boring; land sea; major minor; married divorced; morning evening;
optional mandatory; physical mental; polite rude; quiet loud; reduce increase; reduced increased;
reduces increases; reducing increasing; reduction increase; save waste; saved wasted;
serious trivial; significant insignificant; significantly insignificantly; small large;
smaller larger; special ordinary; unusual ordinary; usual unusual
"""

# What belongs to other kinds, or is often another word ("the left field", "in support of").
_LEFT_ALONE = frozenset(
    listed(
        "higher lower larger smaller left support past even odd mean right building attack attacks "
        "free offer close present pass land"
    )
)


def _opposites() -> dict[str, str]:
    """Each word with its first partner."""
    found: dict[str, str] = {}
    for pair in _PAIRS.replace("\n", " ").split(";"):
        one, _, other = pair.strip().partition(" ")
        if one not in _LEFT_ALONE:
            found.setdefault(one, other)
        if " " not in other and other not in _LEFT_ALONE:
            found.setdefault(other, one)
    return found


OPPOSITE = _opposites()
