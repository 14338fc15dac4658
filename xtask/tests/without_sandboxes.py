"""Becomes another program for which the kernel has neither Landlock nor user namespaces, as in some containers.

A filter answers these system calls as such a kernel does: a seccomp program of the classic BPF.
"""

import ctypes
import os
import platform
import struct
import sys

LANDLOCK_CREATE_RULESET = 444
UNSHARE = {"x86_64": 272, "aarch64": 97}[platform.machine()]
CLONE_NEWUSER = 0x1000_0000

LOAD, IS_EQUAL, HAS_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, EPERM, ENOSYS = 0x7FFF_0000, 0x0005_0001, 0x0005_0026
NUMBER, FIRST_ARGUMENT = 0, 16

# Each with the number of instructions to skip if it is true, and if it is false.
FILTER = [
    (LOAD, 0, 0, NUMBER),
    (IS_EQUAL, 5, 0, LANDLOCK_CREATE_RULESET),
    (IS_EQUAL, 0, 2, UNSHARE),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (HAS_BITS, 1, 0, CLONE_NEWUSER),
    (RETURN, 0, 0, ALLOW),
    (RETURN, 0, 0, EPERM),
    (RETURN, 0, 0, ENOSYS),
]

PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


code = b"".join(struct.pack("HBBI", *instruction) for instruction in FILTER)
memory = ctypes.create_string_buffer(code, len(code))
program = Program(len(FILTER), ctypes.addressof(memory))
libc = ctypes.CDLL(None, use_errno=True)
for option in [
    (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
    (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
]:
    if libc.prctl(*option) != 0:
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
