"""The search within one tree: which provider serves which part of a request."""
