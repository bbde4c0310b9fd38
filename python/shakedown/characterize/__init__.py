"""``characterize``: the experiments of ``fit`` on an arena, kept in a folder, and the twin that comes of them."""
