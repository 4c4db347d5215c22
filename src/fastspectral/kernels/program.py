"""What a plan hands to the kernels: a table of steps, and the geometry of the lines.

A *program* is an int64 table with one row a step.  A step is a kernel that works on the planes of one group of lines; it is called through its address
with ``(variant, source, target, distance, row)``, where `row` points at its row, so that any number of kernels share one signature and a new length
compiles nothing.

A *group* is what the planes hold at a time: either one line, neighbouring points in the lanes of a register, or as many lines as a register has lanes, one
line in each lane.  In both cases a point is found `index × stride` bytes into a plane.
"""

# Columns of a program.  VIEW: 1 for a step that follows the direction of the transform, −1 for the opposite direction, 0 for neither.
# SOURCE and TARGET: 0 or 1, which of the two buffers; they may be the same.
ADDRESS, VIEW, SOURCE, TARGET = 0, 1, 2, 3
# The step's own arguments: the address of its table of constants and what its kernel says about the others.
TABLE, GROUPS, SPAN, RADIX, ROOTS = 4, 5, 6, 7, 8
COUNT, MIRROR, POINTS = GROUPS, SPAN, RADIX
PROGRAM_COLUMNS = 9

# The geometry: how the groups are read and written (addresses of rim kernels, for full groups and for the last, ragged one), how many lines there
# are, and where they lie.  Line (i, j) starts at ``i × OUTER_BYTES + j × INNER_BYTES``; its points are STEP_BYTES apart, the parts of a pair PART_BYTES.
# No group reaches over a multiple of RUN lines.  KEEP numbers are read, FILL points loaded, STORED points written (see `rims.py`).
LOAD, LOAD_RAGGED, STORE, STORE_RAGGED = 0, 1, 2, 3
OUTER, INNER, RUN, LANES = 4, 5, 6, 7
SOURCE_OUTER_BYTES, SOURCE_INNER_BYTES, SOURCE_STEP_BYTES, SOURCE_PART_BYTES = 8, 9, 10, 11
TARGET_OUTER_BYTES, TARGET_INNER_BYTES, TARGET_STEP_BYTES, TARGET_PART_BYTES = 12, 13, 14, 15
KEEP, FILL, STORED, INVERSE, PLANE_BYTES = 16, 17, 18, 19, 20
# Addresses, which hold for this process only: the program of so many steps, the executor to run it with, and the factor of the results (two numbers).
PROGRAM, STEPS, EXECUTOR, SCALE = 21, 22, 23, 24
POINT_LANES = 25  # neighbouring points in a register, for who prints a plan
GEOMETRY_SIZE = 26
