"""German words."""

# ruff: noqa: SIM905
from __future__ import annotations

from tdo_plugin.data.grammar.lexicon_tables import phrases, table

# singular | plural | gender, with w for the weak nouns that end in -n outside the nominative
NOUNS = table("""
teacher Lehrer | Lehrer | m
doctor Arzt | Ärzte | m
student Student | Studenten | mw
child Kind | Kinder | n
woman Frau | Frauen | f
man Mann | Männer | m
friend Freund | Freunde | m
neighbor Nachbar | Nachbarn | mw
mother Mutter | Mütter | f
father Vater | Väter | m
sister Schwester | Schwestern | f
brother Bruder | Brüder | m
farmer Bauer | Bauern | mw
engineer Ingenieur | Ingenieure | m
cook Koch | Köche | m
girl Mädchen | Mädchen | n
boy Junge | Jungen | mw
grandmother Großmutter | Großmütter | f
guest Gast | Gäste | m
soldier Soldat | Soldaten | mw
dog Hund | Hunde | m
cat Katze | Katzen | f
horse Pferd | Pferde | n
bird Vogel | Vögel | m
cow Kuh | Kühe | f
sheep Schaf | Schafe | n
rabbit Kaninchen | Kaninchen | n
mouse Maus | Mäuse | f
bread Brot | Brote | n
cheese Käse | Käse | m
soup Suppe | Suppen | f
rice Reis | Reis | m
meat Fleisch | Fleisch | n
water Wasser | Wasser | n
tea Tee | Tees | m
coffee Kaffee | Kaffees | m
milk Milch | Milch | f
juice Saft | Säfte | m
apple Apfel | Äpfel | m
egg Ei | Eier | n
tomato Tomate | Tomaten | f
banana Banane | Bananen | f
cake Kuchen | Kuchen | m
potato Kartoffel | Kartoffeln | f
book Buch | Bücher | n
newspaper Zeitung | Zeitungen | f
letter Brief | Briefe | m
shirt Hemd | Hemden | n
dress Kleid | Kleider | n
hat Hut | Hüte | m
coat Mantel | Mäntel | m
key Schlüssel | Schlüssel | m
bag Tasche | Taschen | f
phone Telefon | Telefone | n
cup Tasse | Tassen | f
lamp Lampe | Lampen | f
picture Bild | Bilder | n
ball Ball | Bälle | m
umbrella Regenschirm | Regenschirme | m
ring Ring | Ringe | m
chair Stuhl | Stühle | m
table Tisch | Tische | m
box Kiste | Kisten | f
mirror Spiegel | Spiegel | m
knife Messer | Messer | n
flower Blume | Blumen | f
car Auto | Autos | n
bicycle Fahrrad | Fahrräder | n
computer Computer | Computer | m
door Tür | Türen | f
window Fenster | Fenster | n
suitcase Koffer | Koffer | m
house Haus | Häuser | n
bridge Brücke | Brücken | f
church Kirche | Kirchen | f
tower Turm | Türme | m
room Zimmer | Zimmer | n
kitchen Küche | Küchen | f
tree Baum | Bäume | m
bed Bett | Betten | n
""")

NAMES = phrases("""Anna=Anna; Emma=Emma; Maria=Maria; Sofia=Sofia; Laura=Laura; Nina=Nina;
    Martin=Martin; Robert=Robert; Daniel=Daniel; Viktor=Viktor; Thomas=Thomas; Oscar=Oskar""")

# stem before an ending | form without ending
ADJECTIVES = table("""
beautiful schön
big groß
black schwarz
blue blau
cheap billig
cold kalt
expensive teur | teuer
famous berühmt
fresh frisch
good gut
green grün
happy glücklich
heavy schwer
hot heiß
hungry hungrig
interesting interessant
kind freundlich
long lang
new neu
old alt
poor arm
red rot
rich reich
sad traurig
small klein
smart klug
strong stark
tall groß
white weiß
young jung
""")
COMPARATIVES = phrases("""young=jünger; tall=größer; strong=stärker; rich=reicher; smart=klüger;
    big=größer; small=kleiner; expensive=teurer; cheap=billiger; heavy=schwerer;
    beautiful=schöner""")

# infinitive | ich | du | er | participle (*: sein) | separable prefix | object: d, or preposition
VERBS = table("""
read lesen | lese | liest | liest | gelesen | |
write schreiben | schreibe | schreibst | schreibt | geschrieben | |
buy kaufen | kaufe | kaufst | kauft | gekauft | |
sell verkaufen | verkaufe | verkaufst | verkauft | verkauft | |
eat essen | esse | isst | isst | gegessen | |
drink trinken | trinke | trinkst | trinkt | getrunken | |
cook kochen | koche | kochst | kocht | gekocht | |
bring bringen | bringe | bringst | bringt | gebracht | |
draw zeichnen | zeichne | zeichnest | zeichnet | gezeichnet | |
choose wählen | wähle | wählst | wählt | gewählt | aus |
order bestellen | bestelle | bestellst | bestellt | bestellt | |
open machen | mache | machst | macht | gemacht | auf |
close machen | mache | machst | macht | gemacht | zu |
clean putzen | putze | putzt | putzt | geputzt | |
repair reparieren | repariere | reparierst | repariert | repariert | |
wash waschen | wasche | wäschst | wäscht | gewaschen | |
feed füttern | füttere | fütterst | füttert | gefüttert | |
paint streichen | streiche | streichst | streicht | gestrichen | |
hide verstecken | verstecke | versteckst | versteckt | versteckt | |
look_for suchen | suche | suchst | sucht | gesucht | |
help helfen | helfe | hilfst | hilft | geholfen | | d
visit besuchen | besuche | besuchst | besucht | besucht | |
invite laden | lade | lädst | lädt | geladen | ein |
call rufen | rufe | rufst | ruft | gerufen | an |
wait_for warten | warte | wartest | wartet | gewartet | | auf
see sehen | sehe | siehst | sieht | gesehen | |
find finden | finde | findest | findet | gefunden | |
lose verlieren | verliere | verlierst | verliert | verloren | |
forget vergessen | vergesse | vergisst | vergisst | vergessen | |
know_person kennen | kenne | kennst | kennt | gekannt | |
love lieben | liebe | liebst | liebt | geliebt | |
sleep schlafen | schlafe | schläfst | schläft | geschlafen | |
work arbeiten | arbeite | arbeitest | arbeitet | gearbeitet | |
run laufen | laufe | läufst | läuft | gelaufen* | |
play spielen | spiele | spielst | spielt | gespielt | |
sing singen | singe | singst | singt | gesungen | |
dance tanzen | tanze | tanzt | tanzt | getanzt | |
swim schwimmen | schwimme | schwimmst | schwimmt | geschwommen* | |
laugh lachen | lache | lachst | lacht | gelacht | |
cry weinen | weine | weinst | weint | geweint | |
go gehen | gehe | gehst | geht | gegangen* | |
come kommen | komme | kommst | kommt | gekommen* | |
return kehren | kehre | kehrst | kehrt | gekehrt* | zurück |
travel reisen | reise | reist | reist | gereist* | |
give geben | gebe | gibst | gibt | gegeben | |
show zeigen | zeige | zeigst | zeigt | gezeigt | |
send schicken | schicke | schickst | schickt | geschickt | |
lend leihen | leihe | leihst | leiht | geliehen | |
say sagen | sage | sagst | sagt | gesagt | |
think denken | denke | denkst | denkt | gedacht | |
know wissen | weiß | weißt | weiß | gewusst | |
believe glauben | glaube | glaubst | glaubt | geglaubt | |
""")

# imperatives other than the du-form without -st
IMPERATIVES = phrases("""read=lies; draw=zeichne; open=mach; close=mach; clean=putze; feed=füttere;
    wash=wasche; invite=lade; wait_for=warte; forget=vergiss; eat=iss; find=finde; write=schreibe;
    buy=kaufe; sell=verkaufe; drink=trinke; cook=koche; bring=bringe; order=bestelle;
    repair=repariere; paint=streiche; hide=verstecke; look_for=suche; visit=besuche; call=ruf""")

MANNERS = phrases("""quickly=schnell; slowly=langsam; quietly=leise; carefully=vorsichtig;
    beautifully=schön""")

# where | where to
PLACES = table("""
park im Park | in den Park
school in der Schule | in die Schule
market auf dem Markt | auf den Markt
city in der Stadt | in die Stadt
village im Dorf | ins Dorf
forest im Wald | in den Wald
garden im Garten | in den Garten
hospital im Krankenhaus | ins Krankenhaus
restaurant im Restaurant | ins Restaurant
station am Bahnhof | zum Bahnhof
library in der Bibliothek | in die Bibliothek
beach am Strand | an den Strand
home zu Hause | nach Hause
office im Büro | ins Büro
museum im Museum | ins Museum
airport am Flughafen | zum Flughafen
lake im See | zum See
sea im Meer | ans Meer
river im Fluss | zum Fluss
pool im Schwimmbad | ins Schwimmbad
""")

TIMES = phrases("""yesterday=gestern; last_week=letzte Woche; last_month=letzten Monat;
    last_year=letztes Jahr; two_days_ago=vor zwei Tagen; yesterday_evening=gestern Abend; now=jetzt;
    tomorrow=morgen; next_week=nächste Woche; next_month=nächsten Monat; next_year=nächstes Jahr;
    tomorrow_morning=morgen früh; every_day=jeden Tag; every_week=jede Woche;
    every_morning=jeden Morgen; on_sundays=sonntags""")
RELATIONS = phrases("on=auf; in=in; under=unter; behind=hinter; front=vor; beside=neben")
NUMBERS = dict(enumerate("zwei drei vier fünf sechs sieben acht neun zehn".split(), 2))
