#!/usr/bin/env python3
"""Calls the library as Python programs do, by ctypes, with sizes at the borders of 31, 32, 63 and 64 bits: for ./dev check doors.

usage: python_doors.py LIBRARY

Prints a line for each wrong code, then figures; exits 1 if there is a wrong code. Integers are passed unchanged: ctypes cuts them to 64 bits, so that
-1 arrives as 2^64 - 1, which is how most such sizes arise.
"""
import ctypes
import sys

VALUES = (0, 1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -1)
HALF = 1 << 63
OK, NULL_OR_ZERO, INVALID, NO_MEMORY = 0, 100000, 107000, 207001
MALLOC_HUGE_FIRST, COPY_DEFAULT = 0, 4


class Doors:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.calls = self.findings = 0

    def text(self):
        return (self.library.aclGetRecentErrMsg() or b"").decode()

    def judge(self, what, value, code, allowed):
        """Counts a call. A rejection must also have an error message with the code."""
        said = self.text()
        self.calls += 1
        right = code in allowed and (code == OK) == (said == "") and (code == OK or f" [{code} " in said)
        if not right:
            self.findings += 1
            print(f"{what} {value}: code {code}, not one of {allowed}; {said or 'no message'}")

    def allocations(self):
        free = {"aclrtMallocHost": self.library.aclrtFreeHost}
        for name in ("aclrtMalloc", "aclrtMallocAlign32", "aclrtMallocCached", "aclrtMallocHost"):
            for value in VALUES:
                block = ctypes.c_void_p()
                policy = () if name == "aclrtMallocHost" else (MALLOC_HUGE_FIRST,)
                code = getattr(self.library, name)(ctypes.byref(block), ctypes.c_size_t(value), *policy)
                self.judge(name, value, code, (NULL_OR_ZERO,) if value == 0 else (OK,) if value == 1
                           else (OK, NO_MEMORY) if 0 < value < HALF - 1 else (NO_MEMORY,))
                if code == OK:
                    free.get(name, self.library.aclrtFree)(block)

    def copies(self, stream):
        """Uses memory of the library or, where the library cannot provide so many bytes, of Python."""
        block = ctypes.c_void_p()
        self.library.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(32), MALLOC_HUGE_FIRST)
        mine = ctypes.create_string_buffer(64)
        room = ctypes.c_size_t(-1)
        address = ctypes.addressof(mine)
        for value in VALUES:
            count = ctypes.c_size_t(value)
            possible = 0 <= value < HALF
            for to, source in ((block, address), (ctypes.c_void_p(address), block), (ctypes.c_void_p(address), address + 32)):
                if to is not block and source is not block and possible and value > 1:
                    continue  # only the caller knows the size of its memory
                source = ctypes.c_void_p(source) if isinstance(source, int) else source
                allowed = (OK,) if value in (0, 1) else (INVALID,)
                self.judge("aclrtMemcpy", value, self.library.aclrtMemcpy(to, room, source, count, COPY_DEFAULT), allowed)
                self.judge("aclrtMemcpyAsync", value,
                           self.library.aclrtMemcpyAsync(to, room, source, count, COPY_DEFAULT, stream), allowed)
                if to is block or not possible or value <= 1:
                    self.judge("aclrtMemset", value, self.library.aclrtMemset(to, room, 7, count), allowed)
                    self.judge("aclrtMemsetAsync", value, self.library.aclrtMemsetAsync(to, room, 7, count, stream), allowed)
        self.library.aclrtSynchronizeStream(stream)
        self.library.aclrtFree(block)

    def arrays(self):
        number = (ctypes.c_int64 * 1)(1)
        for name in ("Int", "Float", "Bool"):
            create, destroy = (getattr(self.library, f"acl{verb}{name}Array") for verb in ("Create", "Destroy"))
            create.restype = ctypes.c_void_p
            for value in VALUES:
                made = create(number, ctypes.c_uint64(value))
                self.judge(f"aclCreate{name}Array", value, OK if made else 161002, (OK,) if value in (0, 1) else (161002,))
                if made:
                    destroy(ctypes.c_void_p(made))


def main(path):
    doors = Doors(path)
    stream = ctypes.c_void_p()
    if doors.library.aclrtSetDevice(0) or doors.library.aclrtCreateStream(ctypes.byref(stream)):
        sys.exit(f"there is no device: {doors.text()}")
    doors.allocations()
    doors.copies(stream)
    doors.arrays()
    doors.library.aclrtDestroyStream(stream)
    print(f"figure calls {doors.calls}\nfigure findings {doors.findings}")
    return 1 if doors.findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
