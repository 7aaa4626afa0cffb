"""Files in which one value is another, drawn at random, and what commands make of them.

``values`` changes a file, ``subjects`` has the files and the commands that read them, ``outcomes``
says how a command ended: refused in one line, as without the change, or as the new value has it.
"""
