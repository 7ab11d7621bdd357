# SPDX-License-Identifier: Apache-2.0
"""Reads image files with VTK, in a process of its own, whose standard input names a file a line. FILE.npz gets
the arrays of each time, as FIELD or FIELD@TIME-NUMBER; a line of JSON is what VTK says of the file."""

import json
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "build" / "vtk"))
from vtkmodules.util.numpy_support import vtk_to_numpy  # noqa: E402
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline  # noqa: E402
from vtkmodules.vtkIOHDF import vtkHDFReader  # noqa: E402
from vtkmodules.vtkIOXML import vtkXMLImageDataReader  # noqa: E402


def arrays_of(image):
    cells = image.GetCellData()
    shape = [max(1, n - 1) for n in image.GetDimensions()][::-1]
    return {cells.GetArrayName(i): vtk_to_numpy(cells.GetArray(i)).reshape(shape)
            for i in range(cells.GetNumberOfArrays())}


def read(path):
    """Writes the arrays of a file to PATH.npz; returns what VTK says of the file."""
    reader = vtkHDFReader() if path.endswith(".vtkhdf") else vtkXMLImageDataReader()
    reader.SetFileName(path)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS()) or ()
    arrays = {}
    if len(times) == 0:
        reader.Update()
        arrays = arrays_of(reader.GetOutputDataObject(0))
    for number, time in enumerate(times):
        reader.UpdateTimeStep(time)
        arrays |= {f"{name}@{number}": values.copy()
                   for name, values in arrays_of(reader.GetOutputDataObject(0)).items()}
    image = reader.GetOutputDataObject(0)
    np.savez(path + ".npz", **arrays)
    return {"fields": list(dict.fromkeys(name.split("@")[0] for name in arrays)),
            "dimensions": image.GetDimensions(), "origin": image.GetOrigin(), "spacing": image.GetSpacing(),
            "times": list(times)}


for line in sys.stdin:
    print(json.dumps(read(line.rstrip("\n"))), flush=True)
