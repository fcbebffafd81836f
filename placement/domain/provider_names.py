"""The rule that two providers never have the same uuid or the same name (rest-api.md 3.1)."""

from collections.abc import Collection, Iterable, Mapping

from placement.errors import DuplicateName


def refuse_taken(
    stored: Mapping[str, str],
    new: Mapping[str, str],
    renamed: Mapping[str, str],
    gone: Collection[str] = (),
    repeated: Collection[str] = (),
) -> None:
    """Raise DuplicateName for the first provider whose uuid or name another one has or gets.

    If both exist, the error names the uuid. All parameters are names by uuid.

    :param stored: the providers that have one of the wanted uuids or names, as the database
        compares names
    :param new: providers to create
    :param renamed: providers that get another name
    :param gone: uuids of the providers that are removed
    :param repeated: wanted names that, to the database, equal an earlier one
    """
    left = {uuid: name for uuid, name in stored.items() if uuid not in gone}
    kept = [name for uuid, name in left.items() if uuid not in renamed and uuid not in new]
    taken = _as_wanted(kept, [*new.values(), *renamed.values()]) | set(repeated)
    for uuid, name in new.items():
        if uuid in stored:
            raise DuplicateName(f"Conflicting resource provider uuid: {uuid} already exists.")
        if name in taken:
            raise DuplicateName(f"Conflicting resource provider name: {name} already exists.")
        taken.add(name)
    for name in renamed.values():
        if name in taken:
            raise DuplicateName(f"Conflicting resource provider {name} already exists.")
        taken.add(name)


def _as_wanted(stored: Iterable[str], wanted: Collection[str]) -> set[str]:
    """Return the wanted names that are stored, although the database may spell them otherwise."""
    found = set()
    for name in stored:
        if name in wanted:
            found.add(name)
        else:
            alike = [want for want in wanted if _plain(want) == _plain(name)]
            found.update(alike or wanted)
    return found


def _plain(name: str) -> str:
    return name.rstrip().casefold()
