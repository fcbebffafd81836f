"""`placement.wsgi.api:application`: what deployers name to their WSGI server.

Built once per process, when the server imports this module.
"""

from placement.wsgi import init_application

application = init_application()
