# SPDX-License-Identifier: Apache-2.0
"""What calls raise: a class for each status of the C interface, with the library's text."""


class Error(RuntimeError):
    """Any error of Halocline's."""


class UsageError(Error, ValueError):
    """The request is invalid."""


class UnavailableError(Error):
    """Valid, but not available on this machine or in this build."""


class ResourceError(Error, MemoryError):
    """Memory, disk or files ran out."""


class CommunicationError(Error):
    """MPI failed, or a peer did not answer within the wait limit."""


class DeviceError(Error):
    """A GPU or its driver failed."""


class InternalError(Error):
    """A bug in Halocline."""


#: By the numbers of halocline_status, from 1 on.
OF_STATUS = (UsageError, UnavailableError, ResourceError, CommunicationError, DeviceError, InternalError)
