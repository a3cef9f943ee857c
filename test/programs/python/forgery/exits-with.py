import sys

sys.exit(int(input()))
