"""The description of the API as OpenAPI, made from what the service itself judges by.

Routes, schemas of requests and responses, errors and policies are the one truth (extensions.md 11).
"""
