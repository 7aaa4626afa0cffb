"""Turkish words."""

# ruff: noqa: RUF001, SIM905
from __future__ import annotations

from tdo_plugin.data.grammar.lexicon_tables import phrases, table

# word | stem before a vowel if the last sound softens
NOUNS = table("""
teacher öğretmen
doctor doktor
student öğrenci
child çocuk | çocuğ
woman kadın
man adam
friend arkadaş
neighbor komşu
mother anne
father baba
sister kız kardeş
brother erkek kardeş
farmer çiftçi
engineer mühendis
cook aşçı
girl kız
boy oğlan
grandmother büyükanne
guest misafir
soldier asker
dog köpek | köpeğ
cat kedi
horse at
bird kuş
cow inek | ineğ
sheep koyun
rabbit tavşan
mouse fare
bread ekmek | ekmeğ
cheese peynir
soup çorba
rice pirinç | pirinc
meat et
water su
tea çay
coffee kahve
milk süt
juice meyve suyu
apple elma
egg yumurta
tomato domates
banana muz
cake pasta
potato patates
book kitap | kitab
newspaper gazete
letter mektup | mektub
shirt gömlek | gömleğ
dress elbise
hat şapka
coat palto
key anahtar
bag çanta
phone telefon
cup fincan
lamp lamba
picture resim | resm
ball top
umbrella şemsiye
ring yüzük | yüzüğ
chair sandalye
table masa
box kutu
mirror ayna
knife bıçak | bıçağ
flower çiçek | çiçeğ
car araba
bicycle bisiklet
computer bilgisayar
door kapı
window pencere
suitcase bavul
house ev
bridge köprü
church kilise
tower kule
room oda
kitchen mutfak | mutfağ
tree ağaç | ağac
bed yatak | yatağ
""")

NAMES = phrases("""Anna=Anna; Emma=Emma; Maria=Maria; Sofia=Sofia; Laura=Laura; Nina=Nina;
    Martin=Martin; Robert=Robert; Daniel=Daniel; Viktor=Viktor; Thomas=Thomas; Oscar=Oscar""")

ADJECTIVES = phrases("""beautiful=güzel; big=büyük; black=siyah; blue=mavi; cheap=ucuz; cold=soğuk;
    expensive=pahalı; famous=ünlü; fresh=taze; good=iyi; green=yeşil; happy=mutlu; heavy=ağır;
    hot=sıcak; hungry=aç; interesting=ilginç; kind=nazik; long=uzun; new=yeni; old=eski; poor=fakir;
    red=kırmızı; rich=zengin; sad=üzgün; small=küçük; smart=akıllı; strong=güçlü; tall=uzun boylu;
    white=beyaz; young=genç""")
OLD_PERSON = "yaşlı"

# stem | stem before a vowel if it softens | case of the object if it is not acc
VERBS = table("""
read oku
write yaz
buy satın al
sell sat
eat ye
drink iç
cook pişir
bring getir
draw çiz
choose seç
order sipariş et | sipariş ed
open aç
close kapat
clean temizle
repair tamir et | tamir ed
wash yıka
feed besle
paint boya
hide sakla
look_for ara
help yardım et | yardım ed | dat
visit ziyaret et | ziyaret ed
invite davet et | davet ed
call telefon et | telefon ed | dat
wait_for bekle
see gör
find bul
lose kaybet | kaybed
forget unut
know_person tanı
love sev
sleep uyu
work çalış
run koş
play oyna
sing şarkı söyle
dance dans et | dans ed
swim yüz
laugh gül
cry ağla
go git | gid
come gel
return dön
travel seyahat et | seyahat ed
give ver
show göster
send gönder
lend ödünç ver
say söyle
think düşün
know bil
believe inan
""")

MANNERS = phrases("""quickly=hızlıca; slowly=yavaşça; quietly=sessizce; carefully=dikkatlice;
    beautifully=güzelce""")

# where | where to
PLACES = table("""
park parkta | parka
school okulda | okula
market pazarda | pazara
city şehirde | şehre
village köyde | köye
forest ormanda | ormana
garden bahçede | bahçeye
hospital hastanede | hastaneye
restaurant restoranda | restorana
station istasyonda | istasyona
library kütüphanede | kütüphaneye
beach plajda | plaja
home evde | eve
office ofiste | ofise
museum müzede | müzeye
airport havaalanında | havaalanına
lake gölde | göle
sea denizde | denize
river nehirde | nehre
pool havuzda | havuza
""")

TIMES = phrases("""yesterday=dün; last_week=geçen hafta; last_month=geçen ay; last_year=geçen yıl;
    two_days_ago=iki gün önce; yesterday_evening=dün akşam; now=şimdi; tomorrow=yarın;
    next_week=gelecek hafta; next_month=gelecek ay; next_year=gelecek yıl;
    tomorrow_morning=yarın sabah; every_day=her gün; every_week=her hafta; every_morning=her sabah;
    on_sundays=pazar günleri""")
# after a genitive: the table's top, its inside, ...
RELATIONS = phrases("""on=üstünde; in=içinde; under=altında; behind=arkasında; front=önünde;
    beside=yanında""")
NUMBERS = dict(enumerate("iki üç dört beş altı yedi sekiz dokuz on".split(), 2))
