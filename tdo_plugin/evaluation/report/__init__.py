"""From a score sheet to tables, pictures and one page; nothing here measures anything."""
