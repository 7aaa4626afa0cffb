"""Japanese words."""

# ruff: noqa: SIM905
from __future__ import annotations

from tdo_plugin.data.grammar.lexicon_tables import phrases, table

# word | counter | plural of persons
NOUNS = table("""
teacher 先生 | 人 | 先生たち
doctor 医者 | 人 | 医者たち
student 学生 | 人 | 学生たち
child 子供 | 人 | 子供たち
woman 女性 | 人 | 女性たち
man 男性 | 人 | 男性たち
friend 友人 | 人 | 友人たち
neighbor 隣人 | 人 | 隣人たち
mother 母親 | 人 | 母親たち
father 父親 | 人 | 父親たち
sister 妹 | 人 | 妹たち
brother 弟 | 人 | 弟たち
farmer 農夫 | 人 | 農夫たち
engineer 技師 | 人 | 技師たち
cook 料理人 | 人 | 料理人たち
girl 女の子 | 人 | 女の子たち
boy 男の子 | 人 | 男の子たち
grandmother 祖母 | 人 | 祖母たち
guest 客 | 人 | 客たち
soldier 兵士 | 人 | 兵士たち
dog 犬 | 匹
cat 猫 | 匹
horse 馬 | 頭
bird 鳥 | 羽
cow 牛 | 頭
sheep 羊 | 頭
rabbit うさぎ | 匹
mouse ねずみ | 匹
bread パン | 個
cheese チーズ | 個
soup スープ | 杯
rice ご飯 | 杯
meat 肉 | 個
water 水 | 杯
tea お茶 | 杯
coffee コーヒー | 杯
milk 牛乳 | 杯
juice ジュース | 杯
apple りんご | 個
egg 卵 | 個
tomato トマト | 個
banana バナナ | 本
cake ケーキ | 個
potato じゃがいも | 個
book 本 | 冊
newspaper 新聞 | 部
letter 手紙 | 通
shirt シャツ | 枚
dress ドレス | 着
hat 帽子 | 個
coat コート | 着
key 鍵 | 本
bag かばん | 個
phone 電話 | 台
cup カップ | 個
lamp ランプ | 個
picture 絵 | 枚
ball ボール | 個
umbrella 傘 | 本
ring 指輪 | 個
chair 椅子 | 脚
table テーブル | 台
box 箱 | 個
mirror 鏡 | 枚
knife ナイフ | 本
flower 花 | 本
car 車 | 台
bicycle 自転車 | 台
computer パソコン | 台
door ドア | 枚
window 窓 | 枚
suitcase スーツケース | 個
house 家 | 軒
bridge 橋 | 本
church 教会 | 軒
tower 塔 | 基
room 部屋 | 室
kitchen 台所 | 室
tree 木 | 本
bed ベッド | 台
""")

NAMES = phrases("""Anna=アンナ; Emma=エマ; Maria=マリア; Sofia=ソフィア; Laura=ローラ; Nina=ニーナ;
    Martin=マーティン; Robert=ロバート; Daniel=ダニエル; Viktor=ビクトル; Thomas=トーマス;
    Oscar=オスカー""")

# before a noun | kind: i (same form as predicate) or n (drops the last character as predicate)
ADJECTIVES = table("""
beautiful 美しい | i
big 大きい | i
black 黒い | i
blue 青い | i
cheap 安い | i
cold 冷たい | i
expensive 高価な | n
famous 有名な | n
fresh 新鮮な | n
good おいしい | i
green 緑の | n
happy 幸せな | n
heavy 重い | i
hot 熱い | i
hungry 空腹の | n
interesting 面白い | i
kind 親切な | n
long 長い | i
new 新しい | i
old 古い | i
poor 貧しい | i
red 赤い | i
rich 裕福な | n
sad 悲しい | i
small 小さい | i
smart 賢い | i
strong 強い | i
tall 背が高い | i
white 白い | i
young 若い | i
""")
OLD_PERSON = ["年老いた", "高齢の", "n"]
"""Before a noun, then as a predicate with its kind."""

# dictionary form | class: 1 (-ru drops), 5, s (suru), k (kuru) | particle if it is not を
VERBS = table("""
read 読む | 5
write 書く | 5
buy 買う | 5
sell 売る | 5
eat 食べる | 1
drink 飲む | 5
cook 料理する | s
bring 持ってくる | k
draw 描く | 5
choose 選ぶ | 5
order 注文する | s
open 開ける | 1
close 閉める | 1
clean 掃除する | s
repair 修理する | s
wash 洗う | 5
feed 餌をやる | 5 | に
paint 塗る | 5
hide 隠す | 5
look_for 探す | 5
help 手伝う | 5
visit 訪ねる | 1
invite 招待する | s
call 電話する | s | に
wait_for 待つ | 5
see 見る | 1
find 見つける | 1
lose なくす | 5
forget 忘れる | 1
know_person 知る | 5
love 愛する | s
sleep 寝る | 1
work 働く | 5
run 走る | 5
play 遊ぶ | 5
sing 歌う | 5
dance 踊る | 5
swim 泳ぐ | 5
laugh 笑う | 5
cry 泣く | 5
go 行く | 5
come 来る | k
return 戻る | 5
travel 旅行する | s
give あげる | 1
show 見せる | 1
send 送る | 5
lend 貸す | 5
say 言う | 5
think 思う | 5
know 知る | 5
believe 信じる | 1
""")

MANNERS = phrases("""quickly=素早く; slowly=ゆっくり; quietly=静かに; carefully=注意深く;
    beautifully=美しく""")

PLACES = phrases("""park=公園; school=学校; market=市場; city=町; village=村; forest=森; garden=庭;
    hospital=病院; restaurant=レストラン; station=駅; library=図書館; beach=浜辺; home=家;
    office=会社; museum=博物館; airport=空港; lake=湖; sea=海; river=川; pool=プール""")

TIMES = phrases("""yesterday=昨日; last_week=先週; last_month=先月; last_year=去年;
    two_days_ago=二日前に; yesterday_evening=昨夜; now=今; tomorrow=明日; next_week=来週;
    next_month=来月; next_year=来年; tomorrow_morning=明日の朝; every_day=毎日; every_week=毎週;
    every_morning=毎朝; on_sundays=日曜日に""")
RELATIONS = phrases("on=上; in=中; under=下; behind=後ろ; front=前; beside=隣")
NUMBERS = dict(enumerate("二 三 四 五 六 七 八 九 十".split(), 2))
