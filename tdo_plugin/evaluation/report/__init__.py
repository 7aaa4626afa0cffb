"""Tables, figures and one HTML page from a score sheet; nothing here measures anything."""
