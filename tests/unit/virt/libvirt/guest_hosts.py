"""XML of hypervisors whose guests can have this and that."""


def guest_xml(architecture, domains=("qemu", "kvm"), aliases=(), emulator="/usr/bin/qemu"):
    """Return one <guest> of host capabilities; `aliases` are machines with a second name."""
    machines = "".join(f"<machine canonical='{one}-7.2'>{one}</machine>" for one in aliases)
    types = "".join(f"<domain type='{one}'/>" for one in domains)
    return (
        f"<guest><os_type>hvm</os_type><arch name='{architecture}'><emulator>{emulator}</emulator>"
        f"<machine>{architecture}-7.2</machine>{machines}{types}</arch></guest>"
    )


def host_xml(*guests, architecture="x86_64"):
    """Return host capabilities."""
    cpu = f"<cpu><arch>{architecture}</arch></cpu>"
    return f"<capabilities><host>{cpu}</host>{''.join(guests)}</capabilities>"


def domain_xml(buses=("virtio",), video=("vga",), secure=("no",), tpm=""):
    """Return domain capabilities."""
    return (
        f"<domainCapabilities><os supported='yes'><loader supported='yes'>"
        f"{_enum('secure', secure)}</loader></os><devices>"
        f"<disk supported='yes'>{_enum('diskDevice', ['disk'])}{_enum('bus', buses)}</disk>"
        f"<video supported='yes'>{_enum('modelType', video)}</video>{tpm}</devices>"
        "</domainCapabilities>"
    )


def tpm_xml(models=("tpm-tis", "tpm-crb"), backends=("emulator",), versions=("1.2", "2.0")):
    """Return the TPM of domain capabilities; without `versions` as before libvirt 8.6."""
    told = _enum("backendVersion", versions) if versions else ""
    return (
        f"<tpm supported='yes'>{_enum('model', models)}{_enum('backendModel', backends)}{told}"
        "</tpm>"
    )


def _enum(name, values):
    return f"<enum name='{name}'>{''.join(f'<value>{one}</value>' for one in values)}</enum>"
