"""The exit codes of a comparison; argparse adds 2, for a wrong command line."""

SAME = 0
DIFFERENT = 1
#: no difference was found, but not everything was compared
INCOMPLETE = 3
INTERRUPTED = 130
