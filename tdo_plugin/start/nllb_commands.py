"""The commands that fine-tune NLLB-600M, recommended for small corpora."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from tdo_plugin.metrics.language_id.codes import canonical

FEW = 50_000  # sentence pairs per language pair

# ISO 639-1 code -> NLLB's language code
_NAMES = """
    af:afr_Latn ak:aka_Latn am:amh_Ethi ar:arb_Arab as:asm_Beng ay:ayr_Latn az:azj_Latn ba:bak_Cyrl
    be:bel_Cyrl bg:bul_Cyrl bm:bam_Latn bn:ben_Beng bo:bod_Tibt bs:bos_Latn ca:cat_Latn cs:ces_Latn
    cy:cym_Latn da:dan_Latn de:deu_Latn dz:dzo_Tibt ee:ewe_Latn el:ell_Grek en:eng_Latn eo:epo_Latn
    es:spa_Latn et:est_Latn eu:eus_Latn fa:pes_Arab fi:fin_Latn fj:fij_Latn fo:fao_Latn fr:fra_Latn
    ga:gle_Latn gd:gla_Latn gl:glg_Latn gn:grn_Latn gu:guj_Gujr ha:hau_Latn he:heb_Hebr hi:hin_Deva
    hr:hrv_Latn ht:hat_Latn hu:hun_Latn hy:hye_Armn id:ind_Latn ig:ibo_Latn is:isl_Latn it:ita_Latn
    ja:jpn_Jpan jv:jav_Latn ka:kat_Geor kg:kon_Latn ki:kik_Latn kk:kaz_Cyrl km:khm_Khmr kn:kan_Knda
    ko:kor_Hang ky:kir_Cyrl lb:ltz_Latn lg:lug_Latn li:lim_Latn ln:lin_Latn lo:lao_Laoo lt:lit_Latn
    lv:lvs_Latn mg:plt_Latn mi:mri_Latn mk:mkd_Cyrl ml:mal_Mlym mn:khk_Cyrl mr:mar_Deva ms:zsm_Latn
    mt:mlt_Latn my:mya_Mymr ne:npi_Deva nl:nld_Latn nn:nno_Latn no:nob_Latn ny:nya_Latn oc:oci_Latn
    om:gaz_Latn or:ory_Orya pa:pan_Guru pl:pol_Latn ps:pbt_Arab pt:por_Latn qu:quy_Latn rn:run_Latn
    ro:ron_Latn ru:rus_Cyrl rw:kin_Latn sa:san_Deva sc:srd_Latn sd:snd_Arab sg:sag_Latn si:sin_Sinh
    sk:slk_Latn sl:slv_Latn sm:smo_Latn sn:sna_Latn so:som_Latn sq:als_Latn sr:srp_Cyrl ss:ssw_Latn
    st:sot_Latn su:sun_Latn sv:swe_Latn sw:swh_Latn ta:tam_Taml te:tel_Telu tg:tgk_Cyrl th:tha_Thai
    ti:tir_Ethi tk:tuk_Latn tl:tgl_Latn tn:tsn_Latn tr:tur_Latn ts:tso_Latn tt:tat_Cyrl tw:twi_Latn
    ug:uig_Arab uk:ukr_Cyrl ur:urd_Arab uz:uzn_Latn vi:vie_Latn wo:wol_Latn xh:xho_Latn yi:ydd_Hebr
    yo:yor_Latn zh:zho_Hans zu:zul_Latn
"""
NLLB = dict(entry.split(":") for entry in _NAMES.split())


def unknown(languages: Iterable[str]) -> list[str]:
    """Return the languages whose NLLB code is not in the table."""
    return [language for language in languages if canonical(language) not in NLLB]


def nllb_commands(languages: Iterable[str], run: Path) -> Iterator[str]:
    """Yield the commands that convert NLLB-600M to these languages, preprocess and translate.

    Args:
        languages: language codes of the text; all must be in the table.
        run: the run folder.
    """
    named = ",".join(f"{language}={NLLB[canonical(language)]}" for language in languages)
    data, model = run / "nllb-data", run / "nllb"
    yield shlex.join(
        [
            *("tdo", "convert", "nllb-200-distilled-600M", "--from", "nllb"),
            *("--to", "tdo_encoder_decoder", "--langs", named, "--out", str(model)),
        ]
    )
    text = run / "data" / "work" / "text"
    yield shlex.join(["tdo", "preprocess", str(text), str(data), "--model-of", str(model)])
    yield shlex.join(
        [
            *("tdo", "translate", str(data), "--path", str(model / "model.pt")),
            *("--out", str(run / "nllb-output")),
        ]
    )
