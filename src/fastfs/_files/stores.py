"""HDF5 files and Zarr stores from strangers: opened if all of their data are in the file or the folder itself."""

import os
from pathlib import Path
from typing import Any


def open_hdf5(path: Path) -> Any:
    """Open a file for reading; raise ValueError if it takes data from another file.

    A link to another file, a dataset in external storage and a virtual dataset read any file that they name, with the
    rights of the reader: a table from somewhere else could show a password file as names of features.
    """
    import h5py

    file = h5py.File(path, "r")
    try:
        place, other = next(_elsewhere(file), (None, None))
    except BaseException:
        file.close()
        raise
    if place is not None:
        file.close()
        raise ValueError(
            f"'{path}' takes '{place}' from another file, '{other}', which fastfs doesn't read: copy the data into one "
            "file if you trust them"
        )
    return file


def open_zarr(path: Path) -> Any:
    """Open a Zarr store for reading; raise ValueError if a symbolic link leads out of its folder."""
    import zarr

    root = os.path.realpath(path)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            place = os.path.join(folder, name)
            if os.path.islink(place) and os.path.commonpath([root, target := os.path.realpath(place)]) != root:
                raise ValueError(
                    f"'{path}' takes '{os.path.relpath(place, root)}' from elsewhere, '{target}', which fastfs doesn't "
                    "read: copy the data into the store if you trust them"
                )
    return zarr.open(str(path), mode="r")


def _elsewhere(file: Any) -> Any:
    """Yield (path in the file, name of the other file) for each object of an HDF5 file with data elsewhere."""
    import h5py

    groups, seen = [("", file["/"].id)], set()
    while groups:
        path, group = groups.pop()
        for name in group:
            place = f"{path}/{name.decode('utf-8', 'replace')}"
            link = group.links.get_info(name)
            if link.type == h5py.h5l.TYPE_EXTERNAL:
                yield place, group.links.get_val(name)[0].decode("utf-8", "replace")
            if link.type != h5py.h5l.TYPE_HARD:  # a soft link leads to a place in this file
                continue
            one = h5py.h5o.open(group, name)
            if isinstance(one, h5py.h5g.GroupID):
                address = h5py.h5o.get_info(one).addr
                if address not in seen:  # hard links can form a circle
                    seen.add(address)
                    groups.append((place, one))
            elif isinstance(one, h5py.h5d.DatasetID):
                yield from ((place, other) for other in _other_files(one))


def _other_files(dataset: Any) -> Any:
    """Yield the names, as stored, of the other files that hold values of an h5py.h5d.DatasetID."""
    import h5py

    creation = dataset.get_create_plist()
    for number in range(creation.get_external_count()):
        yield creation.get_external(number)[0].decode("utf-8", "replace")
    if creation.get_layout() == h5py.h5d.VIRTUAL:
        for number in range(creation.get_virtual_count()):
            if (other := creation.get_virtual_filename(number)) != ".":
                yield other
