"""The application for WSGI servers: `placement.wsgi.api:application`.

It is created when the server imports this module, once per process.
"""

from placement.wsgi import init_application

application = init_application()
