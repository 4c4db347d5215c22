"""The command line, ``python -m fastspectral``: one module for each verb."""
