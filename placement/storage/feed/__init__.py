"""The change feed: which providers each write touched, in commit order."""
