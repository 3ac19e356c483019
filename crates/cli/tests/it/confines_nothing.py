"""Becomes another program that can use neither namespaces nor Landlock."""

import ctypes
import os
import platform
import struct
import sys

LOAD, JUMP_IF_EQUAL, JUMP_IF_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE, NOT_PERMITTED, UNKNOWN_CALL = 0x7FFF0000, 0x00050000, 1, 38
NUMBER, FIRST_ARGUMENT = 0, 16
NEW_NAMESPACES = 0x7E020000
LANDLOCK_CREATE_RULESET, CLONE3 = 444, 435
UNSHARE, CLONE = {"x86_64": (272, 56), "aarch64": (97, 220)}[platform.machine()]

program = [
    (LOAD, 0, 0, NUMBER),
    (JUMP_IF_EQUAL, 6, 0, LANDLOCK_CREATE_RULESET),
    (JUMP_IF_EQUAL, 5, 0, CLONE3),
    (JUMP_IF_EQUAL, 3, 0, UNSHARE),
    (JUMP_IF_EQUAL, 0, 4, CLONE),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (JUMP_IF_BITS, 0, 2, NEW_NAMESPACES),
    (RETURN, 0, 0, REFUSE | NOT_PERMITTED),
    (RETURN, 0, 0, REFUSE | UNKNOWN_CALL),
    (RETURN, 0, 0, ALLOW),
]
steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
filter_of_steps = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(steps)))

libc = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVILEGES, SECCOMP, BY_FILTER = 38, 22, 2
for call in [(NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SECCOMP, BY_FILTER, filter_of_steps, 0, 0)]:
    if libc.prctl(*call) != 0:
        sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
