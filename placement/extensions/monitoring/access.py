"""Who may read metrics without a token: neighbours that ask directly, by their addresses."""

import ipaddress
from collections.abc import Iterable, Sequence
from wsgiref.types import StartResponse

from oslo_config import cfg

from placement.extensions.monitoring import plain_text
from placement.http.environ import Environ, WSGIApplication

OFF, ADDRESSES, TOKEN = "off", "addresses", "token"
#: how the headers of proxies begin: behind a proxy, every client seems to have its address
_PROXIED = (
    *("HTTP_X_FORWARDED", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP", "HTTP_X_CLIENT_IP"),
    *("HTTP_CLIENT_IP", "HTTP_TRUE_CLIENT_IP", "HTTP_X_CLUSTER_CLIENT_IP"),
    *("HTTP_X_ORIGINAL_", "HTTP_X_ORIGINATING_IP", "HTTP_X_REMOTE_", "HTTP_X_ENVOY_"),
    *("HTTP_CDN_LOOP", "HTTP_CF_CONNECTING_IP", "HTTP_X_AMZN_TRACE_ID", "HTTP_X_AZURE_"),
)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(ranges: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks. Raises cfg.Error for a text that is none."""
    found: list[Network] = []
    for text in ranges:
        try:
            found.append(ipaddress.ip_network(text, strict=False))
        except ValueError as wrong:
            raise cfg.ConfigFileValueError(
                f"[berth]metrics_allowed_source_ranges: {wrong}"
            ) from wrong
    return tuple(found)


class Neighbours:
    """Passes on requests that come directly from certain addresses; others get 403.

    :param allowed: None: every address may ask
    """

    def __init__(self, application: WSGIApplication, allowed: Sequence[Network] | None) -> None:
        self.application = application
        self._allowed = allowed

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        refusal = self._refusal(environ)
        if refusal is None:
            return self.application(environ, start_response)
        return plain_text.answer(environ, start_response, "403 Forbidden", f"{refusal}\n")

    def _refusal(self, environ: Environ) -> str | None:
        if any(name.startswith(_PROXIED) for name in environ):
            return "Metrics are not for requests that came through a proxy ([berth]metrics)."
        if self._allowed is None or self._is_allowed(environ.get("REMOTE_ADDR", "")):
            return None
        return "Metrics are not for this address ([berth]metrics_allowed_source_ranges)."

    def _is_allowed(self, text: str) -> bool:
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            # a client of a socket file has no address
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        address = mapped or address
        return any(address in network for network in self._allowed or ())
