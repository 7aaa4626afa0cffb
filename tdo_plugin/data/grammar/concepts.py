"""Concepts and selectional classes, which ensure that sentences make sense."""

# ruff: noqa: SIM905
from __future__ import annotations

NAMES = "Anna Emma Maria Sofia Laura Nina Martin Robert Daniel Viktor Thomas Oscar".split()

PERSONS = (
    "teacher doctor student child woman man friend neighbor mother father sister brother farmer "
    "engineer cook girl boy grandmother guest soldier"
).split()
KIN = "friend neighbor mother father sister brother grandmother".split()
"""Persons that take a possessive and no plural."""

ANIMALS = "dog cat horse bird cow sheep rabbit mouse".split()
MASS_FOOD = "bread cheese soup rice meat".split()
DRINKS = "water tea coffee milk juice".split()
FOOD = "apple egg tomato banana cake potato".split()
TEXTS = "book newspaper letter".split()
CLOTHES = "shirt dress hat coat".split()
THINGS = (
    "key bag phone cup lamp picture ball umbrella ring chair table box mirror knife flower"
).split()
MACHINES = "car bicycle computer".split()
OPENABLE = "door window suitcase".split()
BUILDINGS = "house bridge church tower".split()
ROOMS = "room kitchen".split()
GROUNDS = "tree bed".split()

NOUNS = [
    *PERSONS, *ANIMALS, *MASS_FOOD, *DRINKS, *FOOD, *TEXTS, *CLOTHES, *THINGS, *MACHINES,
    *OPENABLE, *BUILDINGS, *ROOMS, *GROUNDS,
]  # fmt: skip

ADJECTIVES = {
    "person": "young old tall kind smart rich poor famous strong",
    "animal": "big small old young white black hungry strong beautiful",
    "thing": "big small old new beautiful expensive cheap red blue green white black heavy",
    "building": "big small old new beautiful famous white red",
    "text": "old new expensive cheap long interesting",
    "food": "big small fresh good cheap",
    "massfood": "fresh good cheap expensive",
    "drink": "hot cold good",
}
ODD = {
    ("child", "old"), ("boy", "old"), ("girl", "old"), ("grandmother", "young"), ("egg", "fresh"),
    ("child", "young"), ("boy", "young"), ("girl", "young"), ("ring", "heavy"), ("key", "heavy"),
    ("flower", "heavy"), ("flower", "new"), ("letter", "expensive"), ("letter", "cheap"),
    ("flower", "old"), ("flower", "green"), ("flower", "black"), ("shirt", "heavy"),
    ("dress", "heavy"), ("hat", "heavy"), ("soup", "expensive"), ("cup", "heavy"),
    ("newspaper", "expensive"), ("newspaper", "cheap"), ("newspaper", "long"), ("boy", "tall"),
    ("ball", "heavy"), ("umbrella", "heavy"), ("key", "beautiful"), ("key", "expensive"),
    ("key", "cheap"), ("rabbit", "strong"), ("mouse", "strong"), ("sheep", "strong"),
    ("child", "rich"), ("boy", "rich"), ("girl", "rich"), ("soup", "fresh"), ("rice", "fresh"),
    ("knife", "red"), ("knife", "white"), ("knife", "green"), ("bread", "expensive"),
    ("child", "tall"), ("girl", "tall"), ("tree", "red"), ("tree", "white"),
    ("tree", "cheap"), ("juice", "hot"), ("tree", "expensive"), ("tree", "heavy"), ("tree", "blue"),
    ("bird", "hungry"), ("door", "heavy"), ("car", "heavy"), ("phone", "heavy"),
}  # fmt: skip
PREDICATES = {
    "person": "kind smart rich poor famous strong sad happy hungry young old",
    "thing": "big small old new beautiful expensive cheap heavy",
}
COMPARABLE = {
    "person": "young tall strong rich smart",
    "thing": "big small expensive cheap heavy beautiful",
}
ALL_ADJECTIVES = sorted(
    {a for table in (ADJECTIVES, PREDICATES) for names in table.values() for a in names.split()}
)

CLASS_OF = {
    noun: label
    for label, group in {
        "person": PERSONS, "animal": ANIMALS, "massfood": MASS_FOOD, "drink": DRINKS, "food": FOOD,
        "text": TEXTS, "thing": [*CLOTHES, *THINGS, *MACHINES, *OPENABLE, *ROOMS, *GROUNDS],
        "building": BUILDINGS,
    }.items()
    for noun in group
}  # fmt: skip

_ROOMS_CLEAN = "room kitchen car table window"
TRANSITIVE = {
    # verb: (how a bare object is said, the objects)
    "read": ("a", " ".join(TEXTS)),
    "write": ("a", "letter book"),
    "buy": ("a", " ".join([*FOOD, *TEXTS[:2], *CLOTHES, *THINGS, *MACHINES])),
    "sell": ("a", " ".join([*CLOTHES, *THINGS[3:9], *MACHINES, "horse", "cow", "house"])),
    "eat": ("a", " ".join(FOOD)),
    "cook": ("a", "egg potato"),
    "bring": ("a", "apple cake banana book newspaper key bag cup lamp umbrella chair box flower"),
    "draw": ("a", " ".join([*ANIMALS, *BUILDINGS, "flower", "tree", "bicycle", "chair"])),
    "choose": ("a", " ".join([*CLOTHES, "book ring picture cake car bicycle lamp phone"])),
    "order": ("a", "cake book lamp table computer phone"),
    "open": ("the", "door window suitcase box letter bag"),
    "close": ("the", "door window suitcase box bag"),
    "clean": ("the", _ROOMS_CLEAN),
    "repair": ("the", "car bicycle computer mirror chair door lamp phone bridge umbrella"),
    "wash": ("the", "shirt dress coat car cup knife window dog horse"),
    "feed": ("the", " ".join(ANIMALS)),
    "paint": ("the", "door house chair table box room window bridge"),
    "hide": ("the", "key ring letter box picture knife phone"),
    "look_for": ("the", "key bag phone ring umbrella cat dog ball book letter hat"),
}
MASS_OBJECTS = {
    "buy": [*MASS_FOOD, *DRINKS],
    "eat": MASS_FOOD,
    "drink": DRINKS,
    "cook": ["soup", "rice", "meat"],
    "order": ["soup", "meat", "tea", "coffee", "juice"],
    "bring": [*MASS_FOOD, *DRINKS],
}
PERSON_OBJECTS = "help visit invite call wait_for look_for".split()
PUNCTUAL = {
    # events without duration: in the past or the future only
    "see": ("a", " ".join([*ANIMALS, *BUILDINGS, "car", "bicycle", "tree"])),
    "find": ("a", " ".join([*THINGS[:2], "phone ring ball umbrella box knife book letter hat"])),
    "lose": ("the", "key bag phone ring umbrella ball hat book letter suitcase"),
    "forget": ("the", "key bag phone umbrella book letter hat suitcase picture"),
}
STATIVE = ["know_person", "love"]
ANIMAL_FOOD = {
    "dog": "meat bread",
    "cat": "meat",
    "bird": "bread",
    "mouse": "cheese bread",
    "horse": "bread",
    "cow": "",
    "sheep": "bread",
    "rabbit": "bread",
}
ANIMAL_DRINK = {"cat": "water milk", "mouse": "water milk"}
INTRANSITIVE = "sleep work run play sing dance swim laugh cry".split()
ANIMAL_INTRANSITIVE = ["sleep", "run", "play"]
MANNERS = {
    "run": "quickly slowly", "work": "quietly quickly slowly carefully", "play": "quietly",
    "sing": "quietly beautifully", "dance": "slowly beautifully", "swim": "quickly slowly",
    "cry": "quietly", "laugh": "quietly", "sleep": "quietly",
}  # fmt: skip
OBJECT_MANNERS = {
    "open": "slowly quietly carefully quickly", "close": "slowly quietly carefully quickly",
    "clean": "carefully quickly slowly", "repair": "carefully quickly slowly",
    "wash": "carefully quickly slowly", "paint": "carefully quickly slowly",
    "hide": "quickly carefully quietly",
}  # fmt: skip
MOTION = "go come return travel".split()
DITRANSITIVE = {
    "give": "book letter newspaper key cup apple flower ring umbrella hat cake knife bag ball",
    "show": "book letter picture ring phone car bicycle house dress bag lamp mirror",
    "send": "letter book picture flower phone mirror bag",
    "lend": "book bicycle car umbrella phone bag knife suitcase computer coat",
}
CLAUSAL = "say think know believe".split()
BENEFACTIVE = "buy cook draw bring choose order".split()
EVERYWHERE_VERBS = "read write eat draw look_for help wait_for call drink".split()

VERBS = sorted(
    {
        *TRANSITIVE, *MASS_OBJECTS, *PERSON_OBJECTS, *PUNCTUAL, *STATIVE, *INTRANSITIVE, *MOTION,
        *DITRANSITIVE, *CLAUSAL,
    }
)  # fmt: skip

PLACES = (
    "park school market city village forest garden hospital restaurant station library beach "
    "home office museum airport"
).split()
WORK_PLACES = "school market city village garden hospital restaurant station library office".split()
PLAY_PLACES = "park school city village forest garden beach home".split()
FAR_PLACES = ["city", "village", "beach", "sea"]
SWIM_PLACES = ["lake", "sea", "river", "pool"]
ALL_PLACES = [*PLACES, *SWIM_PLACES]

TIMES = {
    "past": "yesterday last_week last_month last_year two_days_ago yesterday_evening",
    "pres": "now",
    "fut": "tomorrow next_week next_month next_year tomorrow_morning",
    "hab": "every_day every_week every_morning on_sundays",
}
ALL_TIMES = [time for names in TIMES.values() for time in names.split()]

RELATIONS = {
    "on": "table chair bed box",
    "in": "box bag car suitcase house church",
    "under": "table chair bed tree bridge car",
    "behind": "house tree car door church tower chair",
    "front": "house church door tower car window",
    "beside": "table bed tree house lamp box tower",
}
