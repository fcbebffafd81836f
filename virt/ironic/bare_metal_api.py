"""Bare metal machines as ironic lists them, asked with openstacksdk."""

from collections.abc import Callable
from typing import Any, TypeVar

from keystoneauth1 import exceptions as ksa_exceptions
from oslo_config import cfg

from compute import exceptions
from compute.config.credentials import bare_urls, load_session
from virt.ironic.node import IronicNode

GROUP = "ironic"
NOT_FOUND = 404

_T = TypeVar("_T")

_FIELDS = (
    "uuid",
    "name",
    "resource_class",
    "traits",
    "maintenance",
    "power_state",
    "provision_state",
    "instance_uuid",
    "properties",
)


class BareMetalAPI:
    """Asks the service that group [ironic] describes, anew each time.

    `conductor_group` and `shard` narrow the list, where they are set.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Load the library; ImportError says what to install. Nothing is sent yet."""
        self._openstack = _library()
        self._conf = conf
        self._connection: Any = None

    def nodes(self) -> list[IronicNode]:
        """Return the machines.

        Raises VirtDriverNotReady while the service can't be asked, and InvalidConfiguration if the
        options don't say how.
        """
        return self._ask(lambda api: [_node(found) for found in api.nodes(**self._query())])

    def has(self, uuid: str) -> bool:
        """Say whether there is such a machine, in any conductor group and shard; raises as nodes.

        A machine that went to another group isn't gone: another host has it.
        """

        def ask(api: Any) -> bool:
            response = api.get(f"/nodes/{uuid}", params={"fields": "uuid"})
            if response.status_code == NOT_FOUND:
                return False
            self._openstack.exceptions.raise_from_response(response)
            return True

        return self._ask(ask)

    def _ask(self, question: Callable[[Any], _T]) -> _T:
        failures = (self._openstack.exceptions.SDKException, ksa_exceptions.ClientException)
        try:
            if self._connection is None:
                self._connection = self._connect()
            return question(self._connection.baremetal)
        except failures as error:
            self._connection = None
            raise exceptions.VirtDriverNotReady(
                f"The bare metal service can't be asked: {error}"
            ) from error

    def _connect(self) -> object:
        try:
            _, session = load_session(self._conf, GROUP)
        except ksa_exceptions.AuthPluginException as error:
            raise exceptions.InvalidConfiguration(f"Group [{GROUP}]: {error}") from error
        # The library looks for the other options of the group by itself.
        with bare_urls(self._conf, GROUP):
            return self._openstack.connection.Connection(
                session=session, oslo_conf=self._conf, service_types={"baremetal"}
            )

    def _query(self) -> dict[str, object]:
        options = self._conf.ironic
        narrowed = {"conductor_group": options.conductor_group, "shard": options.shard}
        return {"fields": list(_FIELDS)} | {
            name: value for name, value in narrowed.items() if value is not None
        }


def _node(found: Any) -> IronicNode:
    return IronicNode(
        uuid=found.id,
        name=found.name,
        resource_class=found.resource_class,
        traits=frozenset(found.traits or ()),
        maintenance=bool(found.is_maintenance),
        power_state=found.power_state,
        provision_state=found.provision_state,
        instance_uuid=found.instance_id,
        cpu_arch=(found.properties or {}).get("cpu_arch"),
    )


def _library() -> Any:
    try:
        import openstack
    except ImportError as error:
        raise ImportError(
            "[ironic]node_source = openstack needs openstacksdk: install Berth with its extra "
            "`ironic`."
        ) from error
    return openstack
