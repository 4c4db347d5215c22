"""What a plan hands to the kernels: a table of steps, and the geometry of the lines.

A *program* is an int64 table with one row a step.  A step is a kernel that works on one group of lines; it is called through its address with
``(variant, source, target, row, geometry)``, where `row` points at its row, so that any number of kernels share one signature and a new length
compiles nothing.

A *group* is what a buffer holds at a time: either one line, neighbouring points in the lanes of a register, or as many lines as a register has lanes, one
line in each lane.  Between passes the points lie in planes: a register of real parts, then one of imaginary parts.  One line enters and leaves its
passes in pairs (re, im), which may start anywhere in memory.
"""

# Columns of a program.  SOURCE and TARGET: 0 or 1, which of the two buffers (they may be the same), LINES for the caller's lines, those that are read or
# those that are written; or, as a SOURCE, RESULTS for what an earlier step has written there.
ADDRESS, SOURCE, TARGET = 0, 1, 2
LINES, RESULTS = 2, 3
# The step's own arguments: the address of its table of constants and what its kernel says about the others.
TABLE, GROUPS, SPAN, RADIX, ROOTS = 3, 4, 5, 6, 7
COUNT, MIRROR, POINTS, WINDOW = GROUPS, SPAN, RADIX, ROOTS
CONJUGATE = RADIX
NEIGHBOURS = RADIX
# A step whose ADDRESS is 0 is a sweep: a transform of lines of its own, from SOURCE to TARGET, with the geometry at the address SWEEP.
SWEEP = GROUPS
PROGRAM_COLUMNS = 8

# The geometry: the program with its rim kernels (addresses, 0 where the program itself reads or writes the lines), for full groups and for the last,
# ragged one; how many lines there are, and where they lie.  Line (i, j) starts at ``i × OUTER_BYTES + j × INNER_BYTES``; its points are STEP_BYTES
# apart, the parts of a pair PART_BYTES, and what one register takes is VECTOR_BYTES after what the one before takes.
# No group reaches over a multiple of RUN lines.  KEEP numbers are read, FILL points loaded, STORED points written (see `rims.py`).
LOAD, PROGRAM, STEPS, STORE = 0, 1, 2, 3
RAGGED = 4  # columns from those of full groups to those of ragged ones
OUTER, INNER, RUN, LANES = 8, 9, 10, 11
SOURCE_OUTER_BYTES, SOURCE_INNER_BYTES, SOURCE_STEP_BYTES, SOURCE_PART_BYTES, SOURCE_VECTOR_BYTES = 12, 13, 14, 15, 16
TARGET_OUTER_BYTES, TARGET_INNER_BYTES, TARGET_STEP_BYTES, TARGET_PART_BYTES, TARGET_VECTOR_BYTES = 17, 18, 19, 20, 21
KEEP, FILL, STORED, BUFFER_BYTES = 22, 23, 24, 25
# In planes, where the loads put real parts and how far from them imaginary ones, and the same for the stores: exchanged for an inverse.
LOAD_REAL, LOAD_IMAGINARY, STORE_REAL, STORE_IMAGINARY = 26, 27, 28, 29
# Addresses of the executor and of the factor of the results (two numbers).
EXECUTOR, SCALE = 30, 31
POINT_LANES = 32  # neighbouring points in a register, 1 where lines stand side by side; the kernels do not look at it
# Whether the last group of a run, where lines are missing, begins so much earlier instead, and does some lines twice: on both sides, or where it reads.
OVERLAP = 33
BOTH_SIDES, SOURCE_SIDE = 1, 2
UNITS = 34  # of work, for the executor: groups, or blocks
# A block (see `transform_blocks`): so many groups of RUN lines that are part of FAR_RUN ones, the executor of the groups, whether these are numbered
# through, the bytes of the block's memory and where in it results are put; and for either side the points of a line that are copied, 0 if none, how far
# apart they are outside and in the block.
BLOCK, FAR_RUN, WITHIN, NUMBERED, BLOCK_BYTES, BLOCK_RESULTS = 35, 36, 37, 38, 39, 40
SOURCE_ROWS, SOURCE_FAR_BYTES, SOURCE_ROW_BYTES = 41, 42, 43
TARGET_ROWS, TARGET_FAR_BYTES, TARGET_ROW_BYTES = 44, 45, 46
# Cache lines of the next line, on both sides, that are asked for before the steps of this one.
AHEAD = 47
# Whether the next points are asked for where several registers of lines stand side by side.
POINTS_AHEAD = 48
GEOMETRY_SIZE = 49
