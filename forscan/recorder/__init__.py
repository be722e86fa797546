"""What runs in the user's program while it is recorded.

Its modules import each other relatively, since they are loaded as a package of their own
and never import forscan: the user's interpreter need not have it. Nor do they import jax
or numpy before the program does.
"""
