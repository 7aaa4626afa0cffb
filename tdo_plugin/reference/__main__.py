"""``python -m tdo_plugin.reference``: write the generated pages into docs/reference."""

from tdo_plugin.reference import FOLDER, PAGES

for name, page in PAGES.items():
    (FOLDER / name).parent.mkdir(exist_ok=True)
    (FOLDER / name).write_text(page(), encoding="utf-8")
