"""French words."""

# ruff: noqa: SIM905
from __future__ import annotations

from tdo_plugin.data.grammar.lexicon_tables import phrases, table

# singular | gender | plural if it does not just add -s
NOUNS = table("""
teacher professeur | m
doctor médecin | m
student étudiant | m
child enfant | m
woman femme | f
man homme | m
friend ami | m
neighbor voisin | m
mother mère | f
father père | m
sister sœur | f
brother frère | m
farmer agriculteur | m
engineer ingénieur | m
cook cuisinier | m
girl fille | f
boy garçon | m
grandmother grand-mère | f
guest invité | m
soldier soldat | m
dog chien | m
cat chat | m
horse cheval | m | chevaux
bird oiseau | m | oiseaux
cow vache | f
sheep mouton | m
rabbit lapin | m
mouse souris | f | souris
bread pain | m
cheese fromage | m
soup soupe | f
rice riz | m | riz
meat viande | f
water eau | f | eaux
tea thé | m
coffee café | m
milk lait | m
juice jus | m | jus
apple pomme | f
egg œuf | m
tomato tomate | f
banana banane | f
cake gâteau | m | gâteaux
potato pomme de terre | f | pommes de terre
book livre | m
newspaper journal | m | journaux
letter lettre | f
shirt chemise | f
dress robe | f
hat chapeau | m | chapeaux
coat manteau | m | manteaux
key clé | f
bag sac | m
phone téléphone | m
cup tasse | f
lamp lampe | f
picture tableau | m | tableaux
ball ballon | m
umbrella parapluie | m
ring bague | f
chair chaise | f
table table | f
box boîte | f
mirror miroir | m
knife couteau | m | couteaux
flower fleur | f
car voiture | f
bicycle vélo | m
computer ordinateur | m
door porte | f
window fenêtre | f
suitcase valise | f
house maison | f
bridge pont | m
church église | f
tower tour | f
room chambre | f
kitchen cuisine | f
tree arbre | m
bed lit | m
""")

NAMES = phrases("""Anna=Anna; Emma=Emma; Maria=Maria; Sofia=Sofia; Laura=Laura; Nina=Nina;
    Martin=Martin; Robert=Robert; Daniel=Daniel; Viktor=Victor; Thomas=Thomas; Oscar=Oscar""")

# masculine | feminine | masculine plural | before a vowel (only for adjectives before the noun)
ADJECTIVES = table("""
beautiful beau | belle | beaux | bel
big grand | grande | grands | grand
black noir | noire | noirs
blue bleu | bleue | bleus
cheap bon marché | bon marché | bon marché
cold froid | froide | froids
expensive cher | chère | chers
famous célèbre | célèbre | célèbres
fresh frais | fraîche | frais
good bon | bonne | bons | bon
green vert | verte | verts
happy heureux | heureuse | heureux
heavy lourd | lourde | lourds
hot chaud | chaude | chauds
hungry affamé | affamée | affamés
interesting intéressant | intéressante | intéressants
kind gentil | gentille | gentils
long long | longue | longs | long
new nouveau | nouvelle | nouveaux | nouvel
old vieux | vieille | vieux | vieil
poor pauvre | pauvre | pauvres
red rouge | rouge | rouges
rich riche | riche | riches
sad triste | triste | tristes
small petit | petite | petits | petit
smart intelligent | intelligente | intelligents
strong fort | forte | forts
tall grand | grande | grands
white blanc | blanche | blancs
young jeune | jeune | jeunes | jeune
""")

# je | tu | il | nous | ils | infinitive | participle (*: être) | future stem | before the object
VERBS = table("""
read lis | lis | lit | lisons | lisent | lire | lu | lir |
write écris | écris | écrit | écrivons | écrivent | écrire | écrit | écrir |
buy achète | achètes | achète | achetons | achètent | acheter | acheté | achèter |
sell vends | vends | vend | vendons | vendent | vendre | vendu | vendr |
eat mange | manges | mange | mangeons | mangent | manger | mangé | manger |
drink bois | bois | boit | buvons | boivent | boire | bu | boir |
cook prépare | prépares | prépare | préparons | préparent | préparer | préparé | préparer |
bring apporte | apportes | apporte | apportons | apportent | apporter | apporté | apporter |
draw dessine | dessines | dessine | dessinons | dessinent | dessiner | dessiné | dessiner |
choose choisis | choisis | choisit | choisissons | choisissent | choisir | choisi | choisir |
order commande | commandes | commande | commandons | commandent | commander | commandé | commander |
open ouvre | ouvres | ouvre | ouvrons | ouvrent | ouvrir | ouvert | ouvrir |
close ferme | fermes | ferme | fermons | ferment | fermer | fermé | fermer |
clean nettoie | nettoies | nettoie | nettoyons | nettoient | nettoyer | nettoyé | nettoier |
repair répare | répares | répare | réparons | réparent | réparer | réparé | réparer |
wash lave | laves | lave | lavons | lavent | laver | lavé | laver |
feed nourris | nourris | nourrit | nourrissons | nourrissent | nourrir | nourri | nourrir |
paint peins | peins | peint | peignons | peignent | peindre | peint | peindr |
hide cache | caches | cache | cachons | cachent | cacher | caché | cacher |
look_for cherche | cherches | cherche | cherchons | cherchent | chercher | cherché | chercher |
help aide | aides | aide | aidons | aident | aider | aidé | aider |
visit rends visite | rends visite | rend visite | rendons visite | rendent visite | rendre visite | rendu visite | rendr visite | à
invite invite | invites | invite | invitons | invitent | inviter | invité | inviter |
call appelle | appelles | appelle | appelons | appellent | appeler | appelé | appeller |
wait_for attends | attends | attend | attendons | attendent | attendre | attendu | attendr |
see vois | vois | voit | voyons | voient | voir | vu | verr |
find trouve | trouves | trouve | trouvons | trouvent | trouver | trouvé | trouver |
lose perds | perds | perd | perdons | perdent | perdre | perdu | perdr |
forget oublie | oublies | oublie | oublions | oublient | oublier | oublié | oublier |
know_person connais | connais | connaît | connaissons | connaissent | connaître | connu | connaîtr |
love aime | aimes | aime | aimons | aiment | aimer | aimé | aimer |
sleep dors | dors | dort | dormons | dorment | dormir | dormi | dormir |
work travaille | travailles | travaille | travaillons | travaillent | travailler | travaillé | travailler |
run cours | cours | court | courons | courent | courir | couru | courr |
play joue | joues | joue | jouons | jouent | jouer | joué | jouer |
sing chante | chantes | chante | chantons | chantent | chanter | chanté | chanter |
dance danse | danses | danse | dansons | dansent | danser | dansé | danser |
swim nage | nages | nage | nageons | nagent | nager | nagé | nager |
laugh ris | ris | rit | rions | rient | rire | ri | rir |
cry pleure | pleures | pleure | pleurons | pleurent | pleurer | pleuré | pleurer |
go vais | vas | va | allons | vont | aller | allé* | ir |
come viens | viens | vient | venons | viennent | venir | venu* | viendr |
return retourne | retournes | retourne | retournons | retournent | retourner | retourné* | retourner |
travel voyage | voyages | voyage | voyageons | voyagent | voyager | voyagé | voyager |
give donne | donnes | donne | donnons | donnent | donner | donné | donner |
show montre | montres | montre | montrons | montrent | montrer | montré | montrer |
send envoie | envoies | envoie | envoyons | envoient | envoyer | envoyé | enverr |
lend prête | prêtes | prête | prêtons | prêtent | prêter | prêté | prêter |
say dis | dis | dit | disons | disent | dire | dit | dir |
think pense | penses | pense | pensons | pensent | penser | pensé | penser |
know sais | sais | sait | savons | savent | savoir | su | saur |
believe crois | crois | croit | croyons | croient | croire | cru | croir |
""")  # noqa: E501

MANNERS = phrases("""quickly=rapidement; slowly=lentement; quietly=doucement;
    carefully=soigneusement; beautifully=magnifiquement""")

# where | where to
PLACES = table("""
park au parc | au parc
school à l'école | à l'école
market au marché | au marché
city en ville | en ville
village au village | au village
forest dans la forêt | dans la forêt
garden dans le jardin | dans le jardin
hospital à l'hôpital | à l'hôpital
restaurant au restaurant | au restaurant
station à la gare | à la gare
library à la bibliothèque | à la bibliothèque
beach à la plage | à la plage
home à la maison | à la maison
office au bureau | au bureau
museum au musée | au musée
airport à l'aéroport | à l'aéroport
lake dans le lac | au lac
sea dans la mer | à la mer
river dans la rivière | à la rivière
pool à la piscine | à la piscine
""")

TIMES = phrases("""yesterday=hier; last_week=la semaine dernière; last_month=le mois dernier;
    last_year=l'année dernière; two_days_ago=il y a deux jours; yesterday_evening=hier soir;
    now=maintenant; tomorrow=demain; next_week=la semaine prochaine; next_month=le mois prochain;
    next_year=l'année prochaine; tomorrow_morning=demain matin; every_day=tous les jours;
    every_week=chaque semaine; every_morning=tous les matins; on_sundays=le dimanche""")
RELATIONS = phrases("""on=sur; in=dans; under=sous; behind=derrière; front=devant;
    beside=à côté de""")
NUMBERS = dict(enumerate("deux trois quatre cinq six sept huit neuf dix".split(), 2))
