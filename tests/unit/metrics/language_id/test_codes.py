"""Names of languages meet, whoever gave them."""

import pytest

from tdo_plugin.corpora.description import load
from tdo_plugin.metrics.language_id.codes import (
    CONFUSABLE,
    ISO_639,
    canonical,
    confusable,
    of_label,
)

# what fastText's model knows
LID_176 = """
    af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb
    co cs cv cy da de diq dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he
    hi hif hr hsb ht hu hy ia id ie ilo io is it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez
    li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap nds ne new nl nn
    no oc or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh si sk sl so sq
    sr su sv sw ta te tg th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo
    yue zh
"""
# labels of NLLB, GlotLID or OpenLID that are not the code that ISO 639-3 has for ISO 639-1's
FLORES = {
    **{"ar": "arb_Arab", "az": "azj_Latn", "et": "est_Latn ekk_Latn", "fa": "pes_Arab fas_Arab"},
    **{"ku": "kmr_Latn", "lv": "lvs_Latn", "mg": "plt_Latn", "mn": "khk_Cyrl", "ms": "zsm_Latn"},
    **{"ne": "npi_Deva", "no": "nob_Latn", "nn": "nno_Latn", "or": "ory_Orya", "ps": "pbt_Arab"},
    **{"sq": "als_Latn", "uz": "uzn_Latn", "yi": "ydd_Hebr", "sh": "hbs_Latn"},
    "zh": "zho_Hans zho_Hant cmn_Hans cmn_Hani",
}


def test_each_language_has_one_name_in_both_standards():
    assert len(ISO_639) == 183  # ISO 639-1's, with sh and without nb
    assert len(set(ISO_639.values())) == len(ISO_639)
    assert {(len(two), len(three)) for two, three in ISO_639.items()} == {(2, 3)}
    assert [canonical(f"{three}_Latn") for three in ISO_639.values()] == list(ISO_639)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        *((label, code) for code, labels in FLORES.items() for label in labels.split()),
        *(("nb", "no"), ("nb_NO", "no"), ("zh_CN", "zh"), ("zh-tw", "zh"), ("en_XX", "en")),
        *(("pt-br", "pt"), ("DE", "de"), ("iw", "he"), ("yue_Hant", "yue"), ("xx", "xx")),
        ("arz_Arab", "arz"),  # Egyptian, not the standard language
        *(("und_Latn", "?"), ("zxx_Zzzz", "?")),
    ],
)
def test_a_code_becomes_canonical(code, expected):
    assert canonical(code) == expected


def test_lid_176_calls_alemannic_als():
    assert of_label("__label__als") == "gsw"
    assert of_label("__label__als_Latn") == "sq"  # Tosk Albanian for all others


def test_languages_that_lid_176_does_not_know():
    codes = {of_label(f"__label__{label}") for label in LID_176.split()}
    assert len(codes) == len(LID_176.split())  # no two labels fall together
    unknown = {
        corpus: {code for code in load(corpus).languages if canonical(code) not in codes}
        for corpus in ("ted19", "opus100")
    }
    assert unknown == {"ted19": set(), "opus100": {"dz", "ha", "ig", "rw", "se", "xh", "zu"}}


def test_languages_easily_confused():
    for language, near in (
        ("hr", {"bs", "sr", "sh", "cnr"}),
        ("zsm_Latn", {"id"}),
        ("nb", {"nn", "da"}),
        ("da", {"no", "nn"}),
        ("zh_CN", {"yue"}),
        ("cs", set()),  # and Slovak: see CONFUSABLE
        ("xx", set()),
    ):
        assert confusable(language) == near
    members = [code for group in CONFUSABLE for code in group]
    assert len(set(members)) == len(members)
    assert members == [*map(canonical, members)]
