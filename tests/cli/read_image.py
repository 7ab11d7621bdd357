# SPDX-License-Identifier: Apache-2.0
"""Reads an image file with VTK, in a process of its own: `read_image.py FILE OUT.npz`. OUT gets the arrays of
each time, as FIELD or FIELD@TIME-NUMBER, and prints what VTK says of the file as JSON."""

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


path, out = sys.argv[1:]
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
np.savez(out, **arrays)
print(json.dumps({"fields": list(dict.fromkeys(name.split("@")[0] for name in arrays)),
                  "dimensions": image.GetDimensions(), "origin": image.GetOrigin(),
                  "spacing": image.GetSpacing(), "times": list(times)}))
