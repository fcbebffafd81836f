"""Whether what is on some hosts would fit elsewhere if they were lost (extensions.rst).

`sets.py` says which hosts are lost together, `holders.py` who is on them, `alike.py` which sets
need to be judged once. `judging.py` judges a set with the placement of evacuations: first with
candidates that were found for all sets together (`quick.py`), then by itself. `sums.py` proves that
a set can't be absorbed, and says what would have to be added. Nothing is moved.
"""
