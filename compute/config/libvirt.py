"""Options of group [libvirt]: the connection to the hypervisor, and what only it has."""

from oslo_config import cfg, types

GROUP = "libvirt"

OPTIONS = [
    cfg.StrOpt(
        "connection_uri",
        default="qemu:///system",
        help="Where the libvirt driver connects to, like qemu:///system or test:///default.",
    ),
    cfg.StrOpt(
        "virt_type",
        default="kvm",
        choices=["kvm", "lxc", "qemu", "parallels"],
        help="What guests are. Their network cards, disks and images follow from it.",
    ),
    cfg.ListOpt(
        "hw_machine_type",
        default=[],
        help="Type of machine by architecture, like `x86_64=q35`. What guests on it can have is "
        "reported. Without it, the default type counts, and those with a name without version.",
    ),
    cfg.BoolOpt(
        "swtpm_enabled",
        default=False,
        help="Guests may have an emulated TPM: report which, as libvirt says.",
    ),
    cfg.ListOpt(
        "supported_tpm_secret_security",
        default=["user", "host", "deployment"],
        item_type=types.String(choices=["user", "host", "deployment"]),
        help="Who may keep the secrets of emulated TPMs.",
    ),
    cfg.StrOpt(
        "swtpm_user",
        default="tss",
        help="The user that emulated TPMs run as. With swtpm_enabled the host must have it.",
    ),
    cfg.StrOpt(
        "swtpm_group",
        default="tss",
        help="The group that emulated TPMs run as. With swtpm_enabled the host must have it.",
    ),
    cfg.IntOpt(
        "num_intel_tdx_guests",
        min=0,
        help="How many guests can use Intel TDX, if that is fewer than the kernel says, or if the "
        "kernel doesn't say it, as in a container.",
    ),
    cfg.BoolOpt(
        "cpu_power_management",
        default=False,
        help="Another program saves power with the processors of [compute]cpu_dedicated_set while "
        "no guest has them.",
    ),
    cfg.StrOpt(
        "cpu_power_management_strategy",
        default="cpu_state",
        choices=[
            ("cpu_state", "it takes them offline; they are reported, whether online or not"),
            ("governor", "it slows them down; they are always online"),
        ],
        help="How it saves power.",
    ),
    cfg.ListOpt(
        "pmem_namespaces",
        default=[],
        help="Persistent memory for guests: `LABEL:namespace|namespace`, of one size each. "
        "Reported as CUSTOM_PMEM_NAMESPACE_<LABEL>.",
    ),
    cfg.IntOpt(
        "file_backed_memory",
        default=0,
        min=0,
        help="MiB of memory in files, which guests have instead of the host's memory: MEMORY_MB is "
        "as much. 0: none.",
    ),
    cfg.StrOpt(
        "cpu_mode",
        choices=[
            ("host-model", "as the host's"),
            ("host-passthrough", "the host's"),
            ("custom", "one of cpu_models"),
            ("none", "what QEMU gives by default"),
        ],
        help="Which processors guests have; their traits are reported. Unset: host-model.",
    ),
    cfg.ListOpt(
        "cpu_models",
        default=[],
        deprecated_name="cpu_model",
        help="Models of guests' processors, with cpu_mode = custom.",
    ),
    cfg.ListOpt(
        "cpu_model_extra_flags",
        default=[],
        help="Features that guests' processors have beside those of the model. Those after a `-`, "
        "which guests lack, take no trait away.",
    ),
    cfg.StrOpt(
        "images_type",
        default="default",
        choices=["raw", "flat", "qcow2", "lvm", "rbd", "ploop", "default"],
        help="Where guests' disks are. rbd: DISK_GB is what Ceph has, lvm: what the volume group "
        "has, else what the file system of instances_path has.",
    ),
    cfg.StrOpt("images_volume_group", help="The volume group, with images_type = lvm."),
    cfg.StrOpt("images_rbd_pool", default="rbd", help="The pool, with images_type = rbd."),
    cfg.StrOpt("images_rbd_ceph_conf", default="", help="The configuration file of Ceph."),
    cfg.StrOpt("rbd_user", help="The user of Ceph, without `client.`"),
]
