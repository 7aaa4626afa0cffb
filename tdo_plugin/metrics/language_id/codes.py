"""Canonical language codes for corpora and detectors, and easily confused languages."""

from __future__ import annotations

import re

from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE


def _pairs(table: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in table.split())


# ISO 639-1 and ISO 639-3
ISO_639 = _pairs("""
    aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak
    be:bel bg:bul bi:bis bm:bam bn:ben bo:bod br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre
    cs:ces cu:chu cv:chv cy:cym da:dan de:deu dv:div dz:dzo ee:ewe el:ell en:eng eo:epo es:spa
    et:est eu:eus fa:fas ff:ful fi:fin fj:fij fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg gn:grn
    gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun hy:hye hz:her ia:ina id:ind
    ie:ile ig:ibo ii:iii ik:ipk io:ido is:isl it:ita iu:iku ja:jpn jv:jav ka:kat kg:kon ki:kik
    kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir la:lat
    lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mri mk:mkd ml:mal
    mn:mon mr:mar ms:msa mt:mlt my:mya na:nau nd:nde ne:nep ng:ndo nl:nld nn:nno no:nor nr:nbl
    nv:nav ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus pt:por qu:que
    rm:roh rn:run ro:ron ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin sk:slk
    sl:slv sm:smo sn:sna so:som sq:sqi sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam te:tel
    tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig
    uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha zh:zho
    zu:zul
""")

# the usual member language of text with a macrolanguage's code
MEMBERS = _pairs("""
    als:sq arb:ar ayr:ay azj:az cmn:zh ekk:et fuv:ff gaz:om gug:gn khk:mn kmr:ku knc:kr lvs:lv
    npi:ne ory:or pbt:ps pes:fa plt:mg quy:qu swh:sw uzn:uz ydd:yi zsm:ms
""")

# text under `no` is Bokmål; Filipino is standardised Tagalog; the others are withdrawn codes
SYNONYMS = {"nb": "no", "nob": "no", "fil": "tl", "bh": "bho", "in": "id", "iw": "he", "ji": "yi"}

# ISO 639-3 codes for text in no language, or in a language without code
NO_LANGUAGE = dict.fromkeys(("und", "zxx", "mis"), UNDETECTABLE)

# Wikipedia's code for Alemannic, also in lid.176; in ISO 639-3 `als` is Tosk Albanian
WIKIPEDIA = {"als": "gsw"}

_CODES = {three: two for two, three in ISO_639.items()} | MEMBERS | SYNONYMS | NO_LANGUAGE

# Languages that good detectors confuse: their F1 is below 0.99 because of each other in the table
# of OpenLID's authors (Burchell et al., 2023; FLORES-200), or in that of GlotLID for Latin-script
# Serbian. Czech and Slovak, Bulgarian and Macedonian, Portuguese and Galician have 0.99 or more
# there, so a Slovak hypothesis for Czech is an error of the system.
CONFUSABLE = tuple(
    frozenset(group.split())
    for group in (
        "ar acm acq aeb ajp apc arq ars ary arz",  # Standard Arabic and spoken varieties
        "bo dz",
        "bs cnr hr sh sr",
        "da nn no",
        "fa prs",  # Persian of Iran and of Afghanistan
        "awa bho hi hne mag",
        "id ms",
        "rn rw",
        "xh zu",
        "yue zh",
    )
)


def canonical(code: str) -> str:
    """The canonical code of a language, without script and country.

    It has two letters if ISO 639-1 has such a code: `deu_Latn` and `de_DE` become `de`, `zho_Hans`,
    `cmn` and `zh-tw` become `zh`, `nb` and `nob` become `no`. Unknown codes are only lowercased.
    """
    language = re.split("[_-]", code, maxsplit=1)[0].lower()
    return _CODES.get(language, language)


def of_label(label: str) -> str:
    """The canonical code of a fastText label of lid.176, NLLB, GlotLID or OpenLID."""
    name = label.removeprefix("__label__")
    return WIKIPEDIA.get(name) or canonical(name)


def confusable(language: str) -> frozenset[str]:
    """The canonical codes of the languages that are easily confused with this language."""
    code = canonical(language)
    return frozenset().union(*(group for group in CONFUSABLE if code in group)) - {code}
