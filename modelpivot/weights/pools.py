"""Connections to other hosts: kept and used again, straight or through the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)."""

import threading
import urllib.request
from urllib.parse import unquote, urlsplit

import urllib3


class Pools:
    """One pool for the straight way and one for each proxy. Certificates are checked; SSL_CERT_FILE is honoured."""

    def __init__(self, connections: int, timeout: urllib3.Timeout) -> None:
        self._connections, self._timeout = connections, timeout
        self._by_proxy: dict[str, urllib3.PoolManager] = {}
        self._proxies: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def of(self, url: str) -> urllib3.PoolManager:
        """The pool that leads to an address."""
        parts = urlsplit(url)
        with self._lock:
            proxy = self._proxy_for(parts.scheme, parts.hostname or "")
            if proxy not in self._by_proxy:
                self._by_proxy[proxy] = self._make(proxy)
            return self._by_proxy[proxy]

    def _proxy_for(self, scheme: str, host: str) -> str:
        """Looked up once for each host: to read all variables costs as much as a small request."""
        if (scheme, host) not in self._proxies:
            self._proxies[scheme, host] = proxy_for(scheme, host)
        return self._proxies[scheme, host]

    def clear(self) -> None:
        """Drop every connection."""
        with self._lock:
            pools = list(self._by_proxy.values())
        for pool in pools:
            pool.clear()

    def _make(self, proxy: str) -> urllib3.PoolManager:
        if not proxy:
            return urllib3.PoolManager(num_pools=4, maxsize=self._connections, retries=False, timeout=self._timeout)
        parts = urlsplit(proxy)
        headers = None
        if parts.username is not None:
            headers = urllib3.make_headers(proxy_basic_auth=f"{unquote(parts.username)}:{unquote(parts.password or '')}")
        return urllib3.ProxyManager(
            proxy, num_pools=4, maxsize=self._connections, retries=False, timeout=self._timeout, proxy_headers=headers
        )


def proxy_for(scheme: str, host: str) -> str:
    """The address of the proxy that leads to a host; empty: the straight way."""
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get(scheme) or proxies.get("all", "")
    if not proxy or urllib.request.proxy_bypass(host, proxies):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"
