"""What runs in the child process: the only code that knows jax and the user's modules.

Its modules import each other relatively, since the child loads this folder as a package
of its own and never imports forscan: the user's interpreter need not have it.
"""
