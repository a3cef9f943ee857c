"""The address-space limit refuses memory; the program prints that it was the memory limit."""
import sys

try:
    data = bytearray(1 << 40)
except MemoryError:
    print("MemoryError", file=sys.stderr)
    sys.exit(137)
