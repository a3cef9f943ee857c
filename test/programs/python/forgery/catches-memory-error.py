"""Is refused memory by the address-space limit and says that it was the memory limit."""
import sys

try:
    data = bytearray(1 << 40)
except MemoryError:
    print("MemoryError", file=sys.stderr)
    sys.exit(137)
