"""How a command reaches the network service: through group [neutron] of the configuration."""

from typing import Any

from keystoneauth1 import exceptions as ksa_exceptions
from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from compute import exceptions
from compute.cli.command_line import UnusableInput
from compute.config.credentials import is_described, load_adapter
from compute.maintenance.heal.ports import ALLOCATION, NoPorts, Port, PortAllocation, Ports

GROUP = "neutron"
PROFILE = "binding:profile"


def ports(conf: cfg.ConfigOpts) -> Ports:
    """Return the ports of the network service that group [neutron] describes.

    Without such a group there are no ports. Raises UnusableInput if the group is incomplete.
    """
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_session_conf_options(conf, GROUP)
    loading.register_adapter_conf_options(conf, GROUP, include_deprecated=False)
    conf.set_default("service_type", "network", group=GROUP)
    if not is_described(conf, GROUP):
        return NoPorts()
    try:
        adapter = load_adapter(conf, GROUP)
    except ksa_exceptions.AuthPluginException as error:
        raise UnusableInput(f"Group [{GROUP}]: {error}") from error
    return NetworkPorts(adapter)


class NetworkPorts:
    """Ports over the network service's API."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._profiles: dict[str, dict[str, Any]] = {}

    def of_instance(self, instance: str) -> list[Port]:
        """See Ports."""
        try:
            response = self._adapter.get("/v2.0/ports", params={"device_id": instance})
        except ksa_exceptions.ClientException as error:
            raise exceptions.UnableToQueryPorts(instance_uuid=instance, error=error) from error
        if response.status_code != 200:
            raise exceptions.UnableToQueryPorts(instance_uuid=instance, error=response.text)
        rows = response.json()["ports"]
        self._profiles = {row["id"]: row.get(PROFILE) or {} for row in rows}
        return [
            Port(
                row["id"],
                row.get("resource_request") or {},
                self._profiles[row["id"]].get(ALLOCATION),
            )
            for row in rows
        ]

    def set_allocation(self, port: Port, allocation: PortAllocation | None) -> None:
        """See Ports."""
        profile = {k: v for k, v in self._profiles[port.id].items() if k != ALLOCATION}
        if allocation is not None:
            profile[ALLOCATION] = allocation
        try:
            response = self._adapter.put(
                f"/v2.0/ports/{port.id}", json={"port": {PROFILE: profile}}
            )
        except ksa_exceptions.ClientException as error:
            raise exceptions.UnableToUpdatePorts(error=error) from error
        if response.status_code != 200:
            raise exceptions.UnableToUpdatePorts(error=response.text)
