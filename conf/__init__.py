"""The Hydra configuration tree. Holds YAML only; `experiments` reads it through ``pkg://conf``."""
