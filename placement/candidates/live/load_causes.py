"""Why a process loads the whole cloud."""

#: at first, and as the change feed, deletions, failures and audits demand it
LOAD_CAUSES = (
    *("first use", "fell off the feed", "many deletions"),
    *("failure", "audit", "audit failed"),
)
