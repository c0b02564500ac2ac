"""What Hydra lacks for our sweeps: jobs from a list, an optimiser on current Optuna, and a launcher for Ray.

Hydra finds plugins by the name of this folder's parent, in which every distribution may have a part. It imports all
of them in every program that uses Hydra, so nothing here imports anything heavy before it is used.
"""
