"""Why a request has no candidates, and what would help (extensions.md 5).

Begin with `explanation.py`, which names the files behind it. `operation.py` adds the names of
providers and the cloud without a consumer; `empty_searches.py` writes the reason of each search
that found nothing to the log. All is about one snapshot, so other writers don't matter.
"""
