# Imported by the interpreter before the program is opened. With -X assay_park, the sandbox has started it before a program exists:
# it reports that it waits, and continues when /box has the source (launcher/PROTOCOL.md).
import sys

if "assay_park" in sys._xoptions:
    import posix

    del sys._xoptions["assay_park"]
    del sys.orig_argv[1:3]
    posix.write(4, b"\1\0\0\0\0\0\0\0")
    posix.read(3, 8)
    posix.close(3)
    posix.close(4)
