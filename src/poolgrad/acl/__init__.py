"""The documented layer: CANN's C names, called from Python.

Out-parameters come back as values, the status last. Nothing here raises on bad arguments: a call returns the
documented status, and ``aclGetRecentErrMsg`` tells why. ``None`` and ``0`` both stand for a null pointer.
"""

# Constants and status codes, all of them, under their documented names.
from ..base.status import *  # noqa: F403
from .constants import *  # noqa: F403
from .device import aclFinalize as aclFinalize
from .device import aclInit as aclInit
from .device import aclnnFinalize as aclnnFinalize
from .device import aclnnInit as aclnnInit
from .device import aclrtCreateContext as aclrtCreateContext
from .device import aclrtDestroyContext as aclrtDestroyContext
from .device import aclrtGetCurrentContext as aclrtGetCurrentContext
from .device import aclrtGetDevice as aclrtGetDevice
from .device import aclrtGetDeviceCount as aclrtGetDeviceCount
from .device import aclrtGetRunMode as aclrtGetRunMode
from .device import aclrtGetSocName as aclrtGetSocName
from .device import aclrtResetDevice as aclrtResetDevice
from .device import aclrtSetCurrentContext as aclrtSetCurrentContext
from .device import aclrtSetDevice as aclrtSetDevice
from .events import aclrtCreateEvent as aclrtCreateEvent
from .events import aclrtDestroyEvent as aclrtDestroyEvent
from .events import aclrtEventElapsedTime as aclrtEventElapsedTime
from .events import aclrtQueryEventStatus as aclrtQueryEventStatus
from .events import aclrtRecordEvent as aclrtRecordEvent
from .events import aclrtResetEvent as aclrtResetEvent
from .events import aclrtStreamWaitEvent as aclrtStreamWaitEvent
from .events import aclrtSynchronizeEvent as aclrtSynchronizeEvent
from .executors import aclDestroyAclOpExecutor as aclDestroyAclOpExecutor
from .executors import aclSetAclOpExecutorRepeatable as aclSetAclOpExecutorRepeatable
from .executors import aclSetInputTensorAddr as aclSetInputTensorAddr
from .executors import aclSetOutputTensorAddr as aclSetOutputTensorAddr
from .executors import aclSetTensorAddr as aclSetTensorAddr
from .float16 import aclFloat16ToFloat as aclFloat16ToFloat
from .float16 import aclFloatToFloat16 as aclFloatToFloat16
from .memory import aclrtFree as aclrtFree
from .memory import aclrtFreeHost as aclrtFreeHost
from .memory import aclrtMalloc as aclrtMalloc
from .memory import aclrtMallocHost as aclrtMallocHost
from .memory import aclrtMemcpy as aclrtMemcpy
from .memory import aclrtMemset as aclrtMemset
from .messages import aclGetRecentErrMsg as aclGetRecentErrMsg
from .objects import aclCreateIntArray as aclCreateIntArray
from .objects import aclCreateTensor as aclCreateTensor
from .objects import aclDestroyIntArray as aclDestroyIntArray
from .objects import aclDestroyTensor as aclDestroyTensor
from .objects import aclGetDataType as aclGetDataType
from .objects import aclGetFormat as aclGetFormat
from .objects import aclGetIntArraySize as aclGetIntArraySize
from .objects import aclGetRawTensorAddr as aclGetRawTensorAddr
from .objects import aclGetStorageShape as aclGetStorageShape
from .objects import aclGetViewOffset as aclGetViewOffset
from .objects import aclGetViewShape as aclGetViewShape
from .objects import aclGetViewStrides as aclGetViewStrides
from .objects import aclInitTensor as aclInitTensor
from .objects import aclSetRawTensorAddr as aclSetRawTensorAddr
from .options import aclrtCtxGetSysParamOpt as aclrtCtxGetSysParamOpt
from .options import aclrtCtxSetSysParamOpt as aclrtCtxSetSysParamOpt
from .options import aclrtGetSysParamOpt as aclrtGetSysParamOpt
from .options import aclrtSetSysParamOpt as aclrtSetSysParamOpt
from .phases import *  # noqa: F403
from .state import set_product as set_product
from .streams import aclrtCreateStream as aclrtCreateStream
from .streams import aclrtDestroyStream as aclrtDestroyStream
from .streams import aclrtMemcpyAsync as aclrtMemcpyAsync
from .streams import aclrtSynchronizeDevice as aclrtSynchronizeDevice
from .streams import aclrtSynchronizeStream as aclrtSynchronizeStream
from .streams import aclrtSynchronizeStreamWithTimeout as aclrtSynchronizeStreamWithTimeout
