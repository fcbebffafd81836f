"""What changed since a position of the change feed (extensions.md 7).

Begin with `handler.py`; `rows.py` reads a page of the feed, and says how a cursor works.

Writers append to the feed meanwhile. A page is read in one transaction, up to the state that the
lanes have in it, so a later write is in a later page. A request may wait: one thread of the process
asks the feed for all that wait (`placement/storage/feed/feed_watch.py`). After a restore of the
database, or while another service writes without the feed, a position is void: the answer says so.
"""
