"""Spanish words."""

# ruff: noqa: SIM905
from __future__ import annotations

from tdo_plugin.data.grammar.lexicon_tables import phrases, table

# singular | gender | plural if irregular
NOUNS = table("""
teacher profesor | m
doctor médico | m
student estudiante | m
child niño | m
woman mujer | f
man hombre | m
friend amigo | m
neighbor vecino | m
mother madre | f
father padre | m
sister hermana | f
brother hermano | m
farmer agricultor | m
engineer ingeniero | m
cook cocinero | m
girl chica | f
boy chico | m
grandmother abuela | f
guest invitado | m
soldier soldado | m
dog perro | m
cat gato | m
horse caballo | m
bird pájaro | m
cow vaca | f
sheep oveja | f
rabbit conejo | m
mouse ratón | m | ratones
bread pan | m
cheese queso | m
soup sopa | f
rice arroz | m
meat carne | f
water agua | f
tea té | m
coffee café | m
milk leche | f
juice zumo | m
apple manzana | f
egg huevo | m
tomato tomate | m
banana plátano | m
cake pastel | m
potato patata | f
book libro | m
newspaper periódico | m
letter carta | f
shirt camisa | f
dress vestido | m
hat sombrero | m
coat abrigo | m
key llave | f
bag bolso | m
phone teléfono | m
cup taza | f
lamp lámpara | f
picture cuadro | m
ball balón | m | balones
umbrella paraguas | m | paraguas
ring anillo | m
chair silla | f
table mesa | f
box caja | f
mirror espejo | m
knife cuchillo | m
flower flor | f
car coche | m
bicycle bicicleta | f
computer ordenador | m
door puerta | f
window ventana | f
suitcase maleta | f
house casa | f
bridge puente | m
church iglesia | f
tower torre | f
room habitación | f | habitaciones
kitchen cocina | f
tree árbol | m
bed cama | f
""")

NAMES = phrases("""Anna=Ana; Emma=Emma; Maria=María; Sofia=Sofía; Laura=Laura; Nina=Nina;
    Martin=Martín; Robert=Roberto; Daniel=Daniel; Viktor=Víctor; Thomas=Tomás; Oscar=Óscar""")

# masculine singular
ADJECTIVES = phrases("""beautiful=bonito; big=grande; black=negro; blue=azul; cheap=barato;
    cold=frío; expensive=caro; famous=famoso; fresh=fresco; good=bueno; green=verde; happy=feliz;
    heavy=pesado; hot=caliente; hungry=hambriento; interesting=interesante; kind=amable;
    long=largo; new=nuevo; old=viejo; poor=pobre; red=rojo; rich=rico; sad=triste; small=pequeño;
    smart=inteligente; strong=fuerte; tall=alto; white=blanco; young=joven""")
PLURALS = phrases("feliz=felices; joven=jóvenes; azul=azules")

# infinitive | yo | tú | él | nosotros | ellos | preterite in the same order | future stem
VERBS = table("""
read leer | leo | lees | lee | leemos | leen | leí | leíste | leyó | leímos | leyeron | leer
write escribir | escribo | escribes | escribe | escribimos | escriben | escribí | escribiste | escribió | escribimos | escribieron | escribir
buy comprar
sell vender
eat comer
drink beber
cook cocinar
bring traer | traigo | traes | trae | traemos | traen | traje | trajiste | trajo | trajimos | trajeron | traer
draw dibujar
choose elegir | elijo | eliges | elige | elegimos | eligen | elegí | elegiste | eligió | elegimos | eligieron | elegir
order pedir | pido | pides | pide | pedimos | piden | pedí | pediste | pidió | pedimos | pidieron | pedir
open abrir
close cerrar | cierro | cierras | cierra | cerramos | cierran | cerré | cerraste | cerró | cerramos | cerraron | cerrar
clean limpiar
repair reparar
wash lavar
feed alimentar
paint pintar
hide esconder
look_for buscar | busco | buscas | busca | buscamos | buscan | busqué | buscaste | buscó | buscamos | buscaron | buscar
help ayudar
visit visitar
invite invitar
call llamar
wait_for esperar
see ver | veo | ves | ve | vemos | ven | vi | viste | vio | vimos | vieron | ver
find encontrar | encuentro | encuentras | encuentra | encontramos | encuentran | encontré | encontraste | encontró | encontramos | encontraron | encontrar
lose perder | pierdo | pierdes | pierde | perdemos | pierden | perdí | perdiste | perdió | perdimos | perdieron | perder
forget olvidar
know_person conocer | conozco | conoces | conoce | conocemos | conocen | conocí | conociste | conoció | conocimos | conocieron | conocer
love amar
sleep dormir | duermo | duermes | duerme | dormimos | duermen | dormí | dormiste | durmió | dormimos | durmieron | dormir
work trabajar
run correr
play jugar | juego | juegas | juega | jugamos | juegan | jugué | jugaste | jugó | jugamos | jugaron | jugar
sing cantar
dance bailar
swim nadar
laugh reír | río | ríes | ríe | reímos | ríen | reí | reíste | rio | reímos | rieron | reir
cry llorar
go ir | voy | vas | va | vamos | van | fui | fuiste | fue | fuimos | fueron | ir
come venir | vengo | vienes | viene | venimos | vienen | vine | viniste | vino | vinimos | vinieron | vendr
return volver | vuelvo | vuelves | vuelve | volvemos | vuelven | volví | volviste | volvió | volvimos | volvieron | volver
travel viajar
give dar | doy | das | da | damos | dan | di | diste | dio | dimos | dieron | dar
show mostrar | muestro | muestras | muestra | mostramos | muestran | mostré | mostraste | mostró | mostramos | mostraron | mostrar
send enviar | envío | envías | envía | enviamos | envían | envié | enviaste | envió | enviamos | enviaron | enviar
lend prestar
say decir | digo | dices | dice | decimos | dicen | dije | dijiste | dijo | dijimos | dijeron | dir
think pensar | pienso | piensas | piensa | pensamos | piensan | pensé | pensaste | pensó | pensamos | pensaron | pensar
know saber | sé | sabes | sabe | sabemos | saben | supe | supiste | supo | supimos | supieron | sabr
believe creer | creo | crees | cree | creemos | creen | creí | creíste | creyó | creímos | creyeron | creer
""")  # noqa: E501

MANNERS = phrases("""quickly=rápidamente; slowly=lentamente; quietly=silenciosamente;
    carefully=cuidadosamente; beautifully=maravillosamente""")

# where | where to
PLACES = table("""
park en el parque | al parque
school en la escuela | a la escuela
market en el mercado | al mercado
city en la ciudad | a la ciudad
village en el pueblo | al pueblo
forest en el bosque | al bosque
garden en el jardín | al jardín
hospital en el hospital | al hospital
restaurant en el restaurante | al restaurante
station en la estación | a la estación
library en la biblioteca | a la biblioteca
beach en la playa | a la playa
home en casa | a casa
office en la oficina | a la oficina
museum en el museo | al museo
airport en el aeropuerto | al aeropuerto
lake en el lago | al lago
sea en el mar | al mar
river en el río | al río
pool en la piscina | a la piscina
""")

TIMES = phrases("""yesterday=ayer; last_week=la semana pasada; last_month=el mes pasado;
    last_year=el año pasado; two_days_ago=hace dos días; yesterday_evening=ayer por la noche;
    now=ahora; tomorrow=mañana; next_week=la próxima semana; next_month=el próximo mes;
    next_year=el próximo año; tomorrow_morning=mañana por la mañana; every_day=todos los días;
    every_week=todas las semanas; every_morning=todas las mañanas; on_sundays=los domingos""")
RELATIONS = phrases("""on=sobre; in=en; under=debajo de; behind=detrás de; front=delante de;
    beside=al lado de""")
NUMBERS = dict(enumerate("dos tres cuatro cinco seis siete ocho nueve diez".split(), 2))
