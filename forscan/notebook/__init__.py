"""Notebooks: the code cells as one module, and back, with every other byte kept."""
