# SPDX-License-Identifier: Apache-2.0
"""Reads all of the files named, every attribute and dataset, with the h5py that PYTHONPATH leads to. FILE.npz gets
them by their paths; an attribute's is GROUP@NAME. Prints the version of HDF5."""

import sys

import h5py
import numpy as np

for path in sys.argv[1:]:
    found = {}

    def keep(name, thing):
        found.update({f"{name}@{key}": value for key, value in thing.attrs.items()})
        if isinstance(thing, h5py.Dataset):
            found[name] = thing[()]

    with h5py.File(path) as file:
        keep("", file)
        file.visititems(keep)
    np.savez(path + ".npz", **found)
print(h5py.version.hdf5_version)
