"""Small archives with each corpus' own layout, and what must come out of them.

They are written by what is known of the real archives, not by the descriptions, so that a mistake
in a description shows.
"""

from support.layouts import europarl, iwslt, multi30k, news, opus100, ted, un, wmt
from support.layouts.case import Case

CORPORA = (ted, opus100, un, europarl, iwslt, wmt, news, multi30k)
CASES: tuple[Case, ...] = tuple(case for corpus in CORPORA for case in corpus.CASES)
