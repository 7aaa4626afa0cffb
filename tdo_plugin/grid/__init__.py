"""Grids: many trainings of one config that differ in some flags, run and put into one table.

A grid is a JSON file of one's own. Its keys (those with * may be absent):

    title*      text, above the tables
    note*       text, below them
    base        the config file of all cells
    axes        name -> {name of a value: lines}: every combination of values is a cell
    cells*      name -> {base*, lines*, row*}: further cells, in front of the others
    directions* test directions, as of `tdo translate --pairs` (default: all)
    metrics*    list of metrics, as of `tdo score`; by the first the best is chosen (default: bleu,
                ter)
    groups*     list of groups or directions that are shown (default: all test directions as one)
    translate*  lines of options for `tdo translate`
    score*      lines of options for `tdo score`
    published*  a paper's table, such as tlm:9, to set beside the cells
    row*        the name of a cell's row there, {axis} standing for the cell's value

Lines are a list of texts, each as a line of a config file, which is put behind the base's; for
`translate` and `score` the lines have options of these commands. A value is such a list, or
{lines*, drops}: with it the lines of the axes that `drops` names are left out, because they would
do nothing. Cells whose flags come out the same are trained once. Paths are from the grid's folder.
"""
