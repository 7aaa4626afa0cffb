"""English words."""

# ruff: noqa: SIM905
from __future__ import annotations

from tdo_plugin.data.grammar import concepts
from tdo_plugin.data.grammar.lexicon_tables import phrases, table

_PLURALS = phrases("""child=children; woman=women; man=men; sheep=sheep; mouse=mice;
    tomato=tomatoes; potato=potatoes; box=boxes; knife=knives; church=churches; dress=dresses""")


def _plural(noun: str) -> str:
    return _PLURALS.get(noun) or noun + "s"


NOUNS = {noun: (noun, _plural(noun)) for noun in concepts.NOUNS}
NAMES = {name: name for name in concepts.NAMES}
ADJECTIVES = {adjective: adjective for adjective in concepts.ALL_ADJECTIVES}
COMPARATIVES = phrases("""young=younger; tall=taller; strong=stronger; rich=richer; smart=smarter;
    big=bigger; small=smaller; expensive=more expensive; cheap=cheaper; heavy=heavier;
    beautiful=more beautiful""")

# base | he | past | -ing | preposition before the object
VERBS = table("""
read read | reads | read | reading |
write write | writes | wrote | writing |
buy buy | buys | bought | buying |
sell sell | sells | sold | selling |
eat eat | eats | ate | eating |
drink drink | drinks | drank | drinking |
cook cook | cooks | cooked | cooking |
bring bring | brings | brought | bringing |
draw draw | draws | drew | drawing |
choose choose | chooses | chose | choosing |
order order | orders | ordered | ordering |
open open | opens | opened | opening |
close close | closes | closed | closing |
clean clean | cleans | cleaned | cleaning |
repair repair | repairs | repaired | repairing |
wash wash | washes | washed | washing |
feed feed | feeds | fed | feeding |
paint paint | paints | painted | painting |
hide hide | hides | hid | hiding |
look_for look | looks | looked | looking | for
help help | helps | helped | helping |
visit visit | visits | visited | visiting |
invite invite | invites | invited | inviting |
call call | calls | called | calling |
wait_for wait | waits | waited | waiting | for
see see | sees | saw | seeing |
find find | finds | found | finding |
lose lose | loses | lost | losing |
forget forget | forgets | forgot | forgetting |
know_person know | knows | knew | knowing |
love love | loves | loved | loving |
sleep sleep | sleeps | slept | sleeping |
work work | works | worked | working |
run run | runs | ran | running |
play play | plays | played | playing |
sing sing | sings | sang | singing |
dance dance | dances | danced | dancing |
swim swim | swims | swam | swimming |
laugh laugh | laughs | laughed | laughing |
cry cry | cries | cried | crying |
go go | goes | went | going |
come come | comes | came | coming |
return return | returns | returned | returning |
travel travel | travels | traveled | traveling |
give give | gives | gave | giving |
show show | shows | showed | showing |
send send | sends | sent | sending |
lend lend | lends | lent | lending |
say say | says | said | saying |
think think | thinks | thought | thinking |
know know | knows | knew | knowing |
believe believe | believes | believed | believing |
""")

MANNERS = {manner: manner for manner in "quickly slowly quietly carefully beautifully".split()}

# where | where to
PLACES = table("""
park in the park | to the park
school at school | to school
market at the market | to the market
city in the city | to the city
village in the village | to the village
forest in the forest | to the forest
garden in the garden | to the garden
hospital in the hospital | to the hospital
restaurant in the restaurant | to the restaurant
station at the station | to the station
library in the library | to the library
beach on the beach | to the beach
home at home | home
office in the office | to the office
museum in the museum | to the museum
airport at the airport | to the airport
lake in the lake | to the lake
sea in the sea | to the sea
river in the river | to the river
pool in the pool | to the pool
""")

TIMES = {time: time.replace("_", " ") for time in concepts.ALL_TIMES} | {"on_sundays": "on Sundays"}
RELATIONS = phrases("""on=on; in=in; under=under; behind=behind; front=in front of;
    beside=next to""")
NUMBERS = dict(enumerate("two three four five six seven eight nine ten".split(), 2))
