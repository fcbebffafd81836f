"""Compare the answers of two placement services to the same GET requests.

The services are reached over HTTP, or as WSGI applications. Nothing here imports the service.
"""
