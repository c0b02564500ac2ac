"""Composes, runs, replays and analyses experiments. The only package that knows Hydra and prints.

Commands, each a module to be run with ``python -m`` and each answering ``--help``:

* `experiments.run`: one run, or with ``-m`` a sweep (the console script ``kernelwright``)
* `experiments.evaluate`: one kernel file through the whole evaluator
* `experiments.replay`: a stored run once more from its journal, compared byte for byte
* `experiments.report`: the report of stored runs, again

Behind them: `experiments.build` is the one place that makes objects from configuration,
`experiments.settings` says which configurations are allowed, `experiments.faults` what a person
reads when something fails, `experiments.runs` turns a run directory into objects.
"""

import os
import signal
import sys

# While a program of this package is still importing, Ctrl-C ends it by the signal, as SIGTERM does, and not with a
# traceback; `faults.main` turns it into an exception then. Whoever else imports this, a program's child too, keeps what
# it has; so does a shell's background job, which ignores Ctrl-C.
_is_program = sys.argv[0] in sys.orig_argv and (sys.argv[0] == "-m" or os.path.basename(sys.argv[0]) == "kernelwright")
if _is_program and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

# The matrices of a search are small: threads of a linear algebra library cost it more than they give, and their number,
# which depends on the machine, would change last bits and with them decisions. Must stand before numpy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
